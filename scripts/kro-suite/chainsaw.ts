/** Runs kro's end-to-end tests, which are files of chainsaw's: apply, assert, error, delete, wait. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, isNotFound } from "@keelson/client";
import { Namespace } from "@keelson/core/kinds";
import { parse } from "yaml";
import { difference } from "./matches.ts";
import { eventually, kindOf, pause, placed, put, readObjects, remove, type YamlObject } from "./objects.ts";

interface Operation {
  readonly apply?: { readonly file: string };
  readonly assert?: { readonly file: string };
  readonly error?: { readonly file: string };
  readonly delete?: { readonly ref: { apiVersion: string; kind: string; name: string; namespace?: string } };
  readonly wait?: {
    apiVersion: string;
    kind: string;
    name: string;
    for: { jsonPath?: { path: string; value: string } };
  };
  readonly sleep?: { readonly duration: string };
}

interface Test {
  readonly spec: {
    readonly steps: readonly {
      readonly name: string;
      readonly try: Operation[];
      readonly finally?: Operation[];
    }[];
  };
}

export interface CaseResult {
  readonly name: string;
  /** Undefined when it passed. */
  readonly problem: string | undefined;
}

export function chainsawTests(checkout: string): string[] {
  return readdirSync(join(checkout, "test/e2e/chainsaw")).sort();
}

export async function runChainsaw(
  client: Client,
  checkout: string,
  name: string,
  timeoutMs: number,
): Promise<CaseResult> {
  const folder = join(checkout, "test/e2e/chainsaw", name);
  const run = new Run(client, folder, `e2e-${name}`.slice(0, 60), timeoutMs);
  let problem: string | undefined;
  try {
    await client.kind(Namespace).create({ metadata: { name: run.namespace } });
    const test = parse(readFileSync(join(folder, "chainsaw-test.yaml"), "utf8")) as Test;
    for (const step of test.spec.steps) {
      for (const operation of [...step.try, ...(step.finally ?? [])]) {
        const failed = await run.operate(operation);
        if (failed !== undefined) throw new Error(`${step.name}: ${failed}`);
      }
    }
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  try {
    await run.cleanUp();
  } catch (error) {
    problem ??= `cleanup: ${error instanceof Error ? error.message : String(error)}`;
  }
  return { name, problem };
}

class Run {
  readonly namespace: string;
  readonly #client: Client;
  readonly #folder: string;
  readonly #timeoutMs: number;
  readonly #applied: YamlObject[] = [];

  constructor(client: Client, folder: string, namespace: string, timeoutMs: number) {
    this.#client = client;
    this.#folder = folder;
    this.namespace = namespace;
    this.#timeoutMs = timeoutMs;
  }

  /** Undefined when it went well. */
  async operate(operation: Operation): Promise<string | undefined> {
    try {
      if (operation.apply) await this.#apply(operation.apply.file);
      if (operation.assert) await this.#assert(operation.assert.file);
      if (operation.error) await this.#refute(operation.error.file);
      if (operation.wait) await this.#wait(operation.wait);
      // Every assertion asks again until it holds: only what must not happen needs a moment.
      if (operation.sleep) await pause(Math.min(3_000, Number.parseFloat(operation.sleep.duration) * 1000));
      if (operation.delete) {
        const { name, ...rest } = operation.delete.ref;
        await remove(this.#client, { ...rest, metadata: { name } }, this.namespace, this.#timeoutMs);
      }
      return undefined;
    } catch (error) {
      const [kind, what] = Object.entries(operation).find(([key]) => key !== "description") ?? ["", {}];
      return `${kind} ${(what as { file?: string }).file ?? ""}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  async cleanUp(): Promise<void> {
    for (const object of [...this.#applied].reverse()) {
      try {
        await remove(this.#client, object, this.namespace, this.#timeoutMs);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }

  async #apply(file: string): Promise<void> {
    for (const object of readObjects(join(this.#folder, file))) {
      await put(this.#client, object, this.namespace, this.#timeoutMs);
      const known = this.#applied.some(
        ({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name,
      );
      if (!known) this.#applied.push(object);
    }
  }

  async #assert(file: string): Promise<void> {
    for (const expected of readObjects(join(this.#folder, file))) {
      await eventually(async () => await this.#difference(expected), this.#timeoutMs);
    }
  }

  async #refute(file: string): Promise<void> {
    for (const expected of readObjects(join(this.#folder, file))) {
      await eventually(
        async () =>
          (await this.#difference(expected)) === undefined ? `${expected.kind} is there` : undefined,
        this.#timeoutMs,
      );
    }
  }

  async #wait({ apiVersion, kind, name, for: condition }: NonNullable<Operation["wait"]>): Promise<void> {
    const { path = "", value = "" } = condition.jsonPath ?? {};
    const type = /conditions\[\?\(@\.type=='(\w+)'\)\]\.status/.exec(path)?.[1];
    if (type === undefined) throw new Error(`a wait for ${path} is not understood`);
    const expected = {
      apiVersion,
      kind,
      metadata: { name },
      status: { [`(conditions[?type == '${type}'])`]: [{ status: value }] },
    };
    await eventually(async () => await this.#difference(expected as YamlObject), this.#timeoutMs);
  }

  async #difference(expected: YamlObject): Promise<string | undefined> {
    const kind = await kindOf(this.#client, expected);
    if (!kind) return `the cluster has no ${expected.kind} in ${expected.apiVersion}`;
    const { metadata } = placed(kind, expected, this.namespace);
    const actual = await this.#client.kind(kind).find(metadata as { name: string; namespace?: string });
    if (!actual) return `${expected.kind} ${metadata.name} is not there`;
    return difference(actual, { ...expected, metadata: { ...expected.metadata, ...metadata } });
  }
}
