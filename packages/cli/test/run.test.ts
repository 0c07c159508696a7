/** `keelson run`: which cluster it takes, what it refuses before it starts anything, and the operator itself. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@keelson/client";
import { type Cluster, startCluster } from "@keelson/cluster";
import { parseJson } from "@keelson/core";
import { Deployment, Namespace } from "@keelson/core/kinds";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { Memcached } from "../../../operators/memcached/src/api.ts";
import { manifestsFor } from "../src/generate/manifests.ts";
import { isLoopback } from "../src/kubeconfig/target.ts";
import { main } from "../src/main.ts";
import { loadOperator, readProject } from "../src/project.ts";
import { checkAlone } from "../src/run/preflight.ts";

const root = join(import.meta.dirname, "../../..");
const memcached = join(root, "operators/memcached");
let home: string;
let cluster: Cluster;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "keelson-run-"));
  cluster = await startCluster({ nodes: 0 });
});
afterAll(async () => {
  await cluster.stop();
  rmSync(home, { recursive: true });
});

/** On a machine that is busy with other things, too. */
async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return await vi.waitFor(check, { timeout: 100_000, interval: 50 });
}

/** The cluster's own kubeconfig, changed. */
function kubeconfig(name: string, change: (config: Config) => void): string {
  const config = parseJson(readFileSync(cluster.kubeconfig, "utf8")) as unknown as Config;
  change(config);
  const path = join(home, name);
  writeFileSync(path, JSON.stringify(config));
  return path;
}

interface Config {
  clusters: { cluster: Record<string, unknown> }[];
  users: { user: Record<string, unknown> }[];
  "current-context"?: string;
}

describe("before anything is started, one sentence says", () => {
  let said = "";
  beforeEach(() => {
    said = "";
    for (const stream of [process.stdout, process.stderr]) {
      vi.spyOn(stream, "write").mockImplementation((chunk) => {
        said += String(chunk);
        return true;
      });
    }
  });
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });

  async function refusal(...flags: string[]): Promise<string> {
    process.exitCode = undefined;
    said = "";
    const directory = flags.includes("--directory") ? [] : ["--directory", memcached];
    expect(await main(["run", ...directory, ...flags])).toBe(1);
    expect(said.trim().split("\n")).toHaveLength(1);
    return said.trim();
  }
  const elsewhere = (config: Config) => {
    for (const { cluster } of config.clusters) cluster["server"] = "https://203.0.113.7:6443";
  };

  test("that a server elsewhere must be named", async () => {
    const path = kubeconfig("elsewhere", elsewhere);
    expect(await refusal("--kubeconfig", path)).toBe(
      "the current context keelson leads to https://203.0.113.7:6443, which is not on this machine; if that is meant, say --context keelson",
    );
  });

  test("that a server behind a proxy is not on this machine", async () => {
    const path = kubeconfig("proxy", ({ clusters: [first] }) => {
      if (first) first.cluster["proxy-url"] = "http://203.0.113.8:3128";
    });
    expect(await refusal("--kubeconfig", path)).toMatch(
      /^the current context keelson leads to https:\/\/127/,
    );
  });

  test("that there is no such context, and none at all", async () => {
    expect(await refusal("--kubeconfig", cluster.kubeconfig, "--context", "prod")).toMatch(
      /has no context prod; choose one of keelson$/,
    );
    const none = kubeconfig("none", (config) => delete config["current-context"]);
    expect(await refusal("--kubeconfig", none)).toMatch(/has no current context; name one with --context/);
  });

  test("that the kubeconfig does not exist", async () => {
    expect(await refusal("--kubeconfig", join(home, "absent"))).toMatch(
      /absent does not exist; set KUBECONFIG/,
    );
  });

  test("that nothing answers there", async () => {
    const path = kubeconfig("dead", ({ clusters: [first] }) => {
      if (first) first.cluster["server"] = "https://127.0.0.1:1";
    });
    expect(await refusal("--kubeconfig", path)).toMatch(
      /^the cluster of context keelson does not answer at https:\/\/127\.0\.0\.1:1: .*; keelson cluster up starts one/,
    );
  });

  test("that the CRDs are missing", async () => {
    expect(await refusal("--kubeconfig", cluster.kubeconfig)).toMatch(
      /does not serve Memcached of cache\.keelson\.dev\/v1alpha1; say --crds/,
    );
  });

  test("what the user may not do", async () => {
    const somebody = kubeconfig("somebody", ({ users: [first] }) => {
      if (first) first.user["as"] = "somebody";
    });
    expect(await refusal("--kubeconfig", somebody, "--crds")).toMatch(
      /^cannot apply CustomResourceDefinition memcacheds\.cache\.keelson\.dev: .*forbidden.*"somebody"/,
    );
    const { crd } = Memcached;
    await cluster.client.raw({
      method: "POST",
      path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      body: crd() as never,
    });
    await eventually(() => cluster.client.kind(Memcached).list());
    expect(await refusal("--kubeconfig", somebody)).toMatch(
      /^the user of context keelson may not create deployments\.apps, .* and \d+ more, which the operator does;/,
    );
  });

  test("that the cluster runs the same operator already, unless no pod of it runs", async () => {
    const name = "memcached-operator";
    await cluster.client.kind(Namespace).create({ metadata: { name } });
    const project = readProject(memcached);
    const manifests = manifestsFor(project, await loadOperator(project), { namespace: name, image: "x" });
    const deployment = manifests.find(({ kind }) => kind === "Deployment");
    await cluster.client.kind(Deployment).apply(deployment as never);
    const flags = ["--kubeconfig", cluster.kubeconfig];
    expect(await refusal(...flags)).toBe(
      "memcached-operator runs in the cluster of context keelson already, as Deployment memcached-operator/memcached-operator: " +
        "each would undo what the other does; " +
        "stop it with kubectl scale -n memcached-operator deployment/memcached-operator --replicas=0, or say --anyway",
    );
    await cluster.client
      .kind(Deployment)
      .patch({ namespace: name, name }, { type: "merge", body: { spec: { replicas: 0 } } });
    const client = await connect({ kubeconfig: cluster.kubeconfig });
    const target = { context: "keelson", server: "", env: {} };
    await checkAlone(client, await loadOperator(project), target).finally(() => client.close());
  });

  test("that an object which is stored does not fit a new CRD, or is stored in a version that it drops", async () => {
    const project = join(home, "notes");
    const schema = (version: string, spec: string) => {
      mkdirSync(join(project, "src"), { recursive: true });
      writeFileSync(join(project, "package.json"), JSON.stringify({ name: "notes", type: "module" }));
      writeFileSync(join(project, "src/main.ts"), "");
      // Another name for each: a module is imported once.
      const entry = `src/${version}-${spec.length}.ts`;
      const manifest = { name: "notes", type: "module", keelson: { entry } };
      writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
      writeFileSync(
        join(project, entry),
        `import { controller } from ${JSON.stringify(join(root, "packages/runtime/src/index.ts"))};
         import { resource } from ${JSON.stringify(join(root, "packages/schema/src/index.ts"))};
         import { z } from ${JSON.stringify(join(root, "node_modules/zod/index.js"))};
         export const Note = resource({ group: "example.com", kind: "Note", version: "${version}", spec: ${spec} });
         export const notes = controller(Note, { compose: () => ({ children: {} }) });`,
      );
    };
    const flags = ["--directory", project, "--kubeconfig", cluster.kubeconfig, "--crds"];
    schema("v1", "z.object({})");
    process.exitCode = undefined;
    expect(await main(["run", ...flags])).toBe(0);
    await cluster.client.raw({
      method: "POST",
      path: "/apis/example.com/v1/namespaces/default/notes",
      body: { apiVersion: "example.com/v1", kind: "Note", metadata: { name: "first" }, spec: {} },
    });
    schema("v1", "z.object({ text: z.string() })");
    expect(await refusal(...flags)).toMatch(
      /^Note default\/first is stored and does not fit the new schema: .*spec\.text.*; nothing was applied: give a new field a default/,
    );
    schema("v2", "z.object({})");
    expect(await refusal(...flags)).toMatch(
      /^cannot install notes\.example\.com: the server refuses status\.storedVersions.*v1/,
    );
  });

  test("that the folder is no project, or has nothing to run", async () => {
    const empty = join(home, "empty");
    mkdirSync(empty, { recursive: true });
    expect(await refusal("--directory", empty)).toMatch(
      /empty has no package\.json; run this in an operator's/,
    );
    writeFileSync(join(empty, "package.json"), "{}");
    expect(await refusal("--directory", empty)).toMatch(
      /src\/main\.ts does not exist; run the operator there: await app\.run\(\)$/,
    );
  });
});

test("the operator works until a signal, and its exit code is the command's", {
  timeout: 240_000,
}, async () => {
  const child = keelson("run", "--directory", memcached, "--kubeconfig", cluster.kubeconfig, "--crds");
  const output = outputOf(child);
  await eventually(() => expect(output()).toMatch(/caches are complete/));
  expect(output()).toMatch(/^memcached-operator runs against keelson at https:\/\/127/m);
  const here = { namespace: "default", name: "example" };
  await cluster.client.kind(Memcached).create(Memcached.object({ metadata: here, spec: { size: 2 } }));
  await eventually(async () => {
    expect((await cluster.client.kind(Deployment).get(here)).spec?.replicas).toBe(2);
  });
  // As a terminal sends it, to all processes of the command.
  process.kill(-(child.pid ?? 0), "SIGINT");
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("an operator that ends by itself is told of, with exit code 1", async () => {
  const project = join(home, "ends");
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "ends", type: "module" }));
  writeFileSync(
    join(project, "src/index.ts"),
    `export * from ${JSON.stringify(join(memcached, "src/index.ts"))};`,
  );
  writeFileSync(join(project, "src/main.ts"), "process.exitCode = 3;");
  const child = keelson("run", "--directory", project, "--kubeconfig", cluster.kubeconfig, "--crds");
  const output = outputOf(child);
  expect(await once(child, "exit")).toEqual([1, null]);
  expect(output()).toMatch(/memcached-operator ended with exit code 3; its log says why\n$/);
});

test.each([
  ["https://127.0.0.1:6443", true],
  ["https://127.3.2.1", true],
  ["https://localhost:6443", true],
  ["https://[::1]:6443", true],
  ["https://127.0.0.1.example.com", false],
  ["https://10.0.0.1:6443", false],
  ["https://localhost.example.com", false],
  ["nonsense", false],
])("%s is on this machine: %s", (server, expected) => {
  expect(isLoopback(server)).toBe(expected);
});

function keelson(...args: string[]): ChildProcess {
  return spawn(process.execPath, [join(root, "packages/keelson/bin/keelson.js"), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
}

function outputOf({ stdout, stderr }: ChildProcess): () => string {
  let text = "";
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  return () => text;
}
