/**
 * kubebuilder's sample operator, as Go builds it, on the embedded cluster or with `--on reference` on the real control plane:
 * `npm run conformance:kubebuilder -- --project DIR`.
 *
 * DIR is the Memcached project of kubebuilder's book. Its owners are deleted one after the other, and it must not make a
 * Deployment again: it does when it hears of a collected Deployment before it hears that the owner has gone.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Client, connect, isNotFound } from "@keelson/client";
import { startCluster } from "@keelson/cluster";
import { dynamicKind, type JsonObject, resourcePath } from "@keelson/core";
import { Deployment } from "@keelson/core/kinds";
import { parse } from "yaml";
import { startControlPlane } from "../reference/control-plane.ts";
import { commandLine } from "./command-line.ts";

const values = commandLine({
  command: "npm run conformance:kubebuilder",
  does: "kubebuilder's sample operator, on the embedded cluster: owners are deleted, and it must make no Deployment again.",
  options: {
    project: {
      text: "DIR",
      required: true,
      help: "docs/book/src/getting-started/testdata/project of a checkout of kubebuilder",
    },
    manager: { text: "FILE", help: "the project's program, already built (default: it is built with Go)" },
    count: { number: "N", default: 50, help: "owners to delete" },
    on: { text: "NAME", oneOf: ["reference"], help: "on the real control plane (npm run reference)" },
    log: { text: "FILE", help: "where the operator's output goes" },
  },
});
const Memcached = dynamicKind({
  group: "cache.example.com",
  version: "v1alpha1",
  kind: "Memcached",
  resource: "memcacheds",
  scope: "Namespaced",
});
const namespace = "default";

async function main(project: string, count: number): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const work = mkdtempSync(join(tmpdir(), "keelson-kubebuilder-"));
  stack.defer(() => rmSync(work, { recursive: true, force: true }));
  const manager = values.manager ? resolve(values.manager) : join(work, "manager");
  if (!values.manager) execFileSync("go", ["build", "-o", manager, "./cmd"], { cwd: project });
  const { kubeconfig } = stack.use(await start());
  const client = await connect({ kubeconfig });
  stack.defer(() => client.close());
  const definition = join(project, "config/crd/bases/cache.example.com_memcacheds.yaml");
  await client.raw({
    method: "POST",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    body: parse(readFileSync(definition, "utf8")) as JsonObject,
  });
  while (await isAbsentStill(client)) await setTimeout(100);
  const operator = startOperator(manager, kubeconfig);
  stack.defer(() => void operator.kill());
  using deployments = new Deployments(client);
  const names = Array.from({ length: count }, (_, index) => `sample-${index}`);
  for (const name of names) await own(client, name);
  await deployments.until(({ made }) => names.every((name) => made.has(name)));
  for (const name of names) {
    await client.kind(Memcached).delete({ namespace, name });
    await deployments.until(({ gone }) => gone.has(name));
  }
  // What the operator does about a new owner comes after what it did about those.
  await own(client, "last");
  await deployments.until(({ made }) => made.has("last"));
  const again = names.filter((name) => (deployments.made.get(name) ?? 0) > 1);
  console.log(`${count} owners deleted, ${again.length} Deployments made again ${again.join(" ")}`.trim());
  return again.length === 0 ? 0 : 1;
}

async function start(): Promise<AsyncDisposable & { readonly kubeconfig: string }> {
  return values.on === "reference"
    ? await startControlPlane({ controllers: true })
    : await startCluster({ simulate: "always" });
}

async function isAbsentStill(client: Client): Promise<boolean> {
  try {
    await client.kind(Memcached).list();
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}

const own = (client: Client, name: string) =>
  client.raw({
    method: "POST",
    path: resourcePath(Memcached, namespace),
    body: {
      apiVersion: "cache.example.com/v1alpha1",
      kind: "Memcached",
      metadata: { name },
      spec: { size: 1 },
    },
  });

/** How often each Deployment has been made, and which have gone. */
class Deployments {
  readonly made = new Map<string, number>();
  readonly gone = new Set<string>();
  readonly #end = new AbortController();
  #changed = Promise.withResolvers<void>();

  constructor(client: Client) {
    void this.#follow(client);
  }

  [Symbol.dispose](): void {
    this.#end.abort();
  }

  async until(isTrue: (deployments: this) => boolean): Promise<void> {
    while (!isTrue(this)) await this.#changed.promise;
  }

  async #follow(client: Client): Promise<void> {
    for await (const event of client.kind(Deployment).reflect({ namespace, signal: this.#end.signal })) {
      if (!("object" in event)) continue;
      const { name } = event.object.metadata;
      if (event.type === "added" || event.type === "item")
        this.made.set(name, (this.made.get(name) ?? 0) + 1);
      if (event.type === "deleted") this.gone.add(name);
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    }
  }
}

function startOperator(manager: string, kubeconfig: string): ChildProcess {
  const operator = spawn(manager, ["--health-probe-bind-address=0"], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (values.log) operator.stderr.pipe(createWriteStream(values.log));
  else operator.stderr.resume();
  return operator;
}

// Last: what it calls has to be there.
process.exitCode = await main(resolve(values.project), values.count);
