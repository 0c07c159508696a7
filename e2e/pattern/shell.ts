/** A person at a shell: an embedded cluster with three nodes, kubectl, and operators deployed as their users deploy them. */
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import { Machine } from "../cluster/machine.ts";
import { eventually } from "../operator/eventually.ts";
import type { Say } from "../promises/promises.ts";

const root = join(import.meta.dirname, "../..");

export type OperatorName = "memcached" | "sampledb" | "etcd" | "database";

export class Shell implements AsyncDisposable {
  readonly #machine: Machine;
  readonly #say: Say;
  readonly #deployed = new Set<OperatorName>();

  private constructor(machine: Machine, say: Say) {
    this.#machine = machine;
    this.#say = say;
  }

  static async start(say: Say): Promise<Shell> {
    const machine = await Machine.start();
    await machine.keelson("cluster", "up", "--nodes", "3");
    return new Shell(machine, say);
  }

  /** `keelson deploy`, once. */
  async deployed(name: OperatorName): Promise<void> {
    if (this.#deployed.has(name)) return;
    this.#say(`keelson deploy --directory operators/${name}`);
    await this.#machine.keelson("deploy", "--directory", this.directoryOf(name));
    this.#deployed.add(name);
  }

  directoryOf(name: OperatorName): string {
    return join(root, "operators", name);
  }

  async keelson(...args: string[]): Promise<string> {
    return await this.#machine.keelson(...args);
  }

  /** A command that goes on until it is stopped. */
  start(...args: string[]) {
    return this.#machine.start(...args);
  }

  async kubectl(...args: string[]): Promise<string> {
    return await this.#machine.kubectl(...args);
  }

  async edit(target: string, substitution: string): Promise<void> {
    await this.#machine.edit(target, substitution);
  }

  async apply(...objects: readonly object[]): Promise<void> {
    await this.#machine.apply(...objects);
  }

  /** `kubectl wait`: what is waited for is of the newest spec. */
  async wait(target: string, condition: string, seconds = 180): Promise<void> {
    try {
      await this.kubectl("wait", `--for=${condition}`, target, `--timeout=${seconds}s`);
    } catch (error) {
      const seen = await this.kubectl("get", target, "-o", "jsonpath={.status}").catch(String);
      throw new Error(`${target} has not reached ${condition}: ${seen.slice(0, 2_000)}`, { cause: error });
    }
  }

  /** One value of an object. */
  async value(target: string, path: string, ...more: string[]): Promise<string> {
    return await this.kubectl("get", target, "-o", `jsonpath={${path}}`, ...more);
  }

  /** Objects as `kubectl get -o json` prints them. */
  async objects<T>(kind: string, ...more: string[]): Promise<T[]> {
    const text = await this.kubectl("get", kind, "-o", "json", ...more);
    return (parseJson(text) as unknown as { items: T[] }).items;
  }

  /** Names of objects, sorted; with what follows the kind, such as `-l app=memcached`. */
  async names(kind: string, ...more: string[]): Promise<string[]> {
    const text = await this.kubectl("get", kind, "-o", "name", ...more);
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => line.slice(line.indexOf("/") + 1))
      .sort();
  }

  /** A value of a Secret, in clear text. */
  async secret(name: string, key: string): Promise<string> {
    return Buffer.from(await this.value(`secret/${name}`, `.data.${key}`), "base64").toString();
  }

  async exec(pod: string, ...command: string[]): Promise<string> {
    return (await this.kubectl("exec", pod, "--", ...command)).trim();
  }

  /** Looks again and again. */
  async until(what: string, holds: () => Promise<boolean>, seconds = 120): Promise<void> {
    await eventually(what, seconds * 1_000, holds);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machine[Symbol.asyncDispose]();
  }
}

/** Throws with what there is. */
export function expect(what: string, holds: boolean, seen: unknown = ""): void {
  if (holds) return;
  const text = typeof seen === "string" ? seen : JSON.stringify(seen);
  throw new Error(`not so: ${what}${text === "" ? "" : `; there is ${text}`}`);
}
