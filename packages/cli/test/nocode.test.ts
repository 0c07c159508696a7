/** Operators without code from the command line: what is refused, what is installed, and what runs. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, startCluster } from "@keelson/cluster";
import { dynamicKind } from "@keelson/core";
import { ClusterRole, ConfigMap, Deployment } from "@keelson/core/kinds";
import { ResourceGraphDefinition } from "@keelson/graphs";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { main } from "../src/main.ts";

const root = join(import.meta.dirname, "../../..");
let home: string;
let cluster: Cluster;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "keelson-nocode-"));
  cluster = await startCluster({ nodes: 0 });
});
const children: ChildProcess[] = [];
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await cluster.stop();
  rmSync(home, { recursive: true });
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

const definition = (kind: string, template: string) => `apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: { name: ${kind.toLowerCase()} }
spec:
  schema:
    apiVersion: v1alpha1
    kind: ${kind}
    spec: { value: string | default="a" }
  resources:
  - id: made
    template:
      apiVersion: v1
      kind: ${template}
      metadata: { name: "\${schema.metadata.name}" }
`;

async function say(...args: string[]): Promise<{ code: number; said: string }> {
  let said = "";
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((chunk) => {
      said += String(chunk);
      return true;
    });
  }
  const code = await main([...args, "--kubeconfig", cluster.kubeconfig]);
  vi.restoreAllMocks();
  return { code, said };
}

test("a mistake is one sentence with its file and line, and nothing is made", async () => {
  const file = join(home, "bad.yaml");
  writeFileSync(file, definition("Bad", "Confmap"));
  for (const command of ["run", "install"]) {
    const { code, said } = await say(command, "-f", file);
    expect(code).toBe(1);
    expect(said.trim()).toBe(
      `${file}:13: the cluster has no kind Confmap in v1; install its CustomResourceDefinition first, or correct the name`,
    );
  }
  await expect(cluster.client.kind(ResourceGraphDefinition).list()).rejects.toThrow("404");
});

test("what is installed has the role that the definitions need, and it changes with them", async () => {
  const file = join(home, "good.yaml");
  writeFileSync(file, definition("Good", "ConfigMap"));
  expect((await say("install", "-f", file)).said).toBe(
    "1 definition and the Deployment keelson-graphs/graphs are applied\n",
  );
  const resources = async () => {
    const { rules = [] } = await cluster.client.kind(ClusterRole).get({ name: "graphs" });
    return rules.flatMap((rule) => rule.resources ?? []).sort();
  };
  expect(await resources()).toContain("configmaps");
  expect(await resources()).toContain("goods");
  const deployment = await cluster.client
    .kind(Deployment)
    .get({ namespace: "keelson-graphs", name: "graphs" });
  expect(deployment.spec?.template.spec?.containers[0]?.image).toMatch(/^keelson-graphs:/);
  writeFileSync(file, definition("Good", "Secret"));
  await say("install", "-f", file);
  expect(await resources()).toContain("secrets");
  expect(await resources()).not.toContain("configmaps");
  // Without files: what the cluster has.
  const { said } = await say("install", "--print");
  expect(said).toContain("secrets");
});

/** `keelson run -f`, begun; until its caches are complete. */
async function running(file: string) {
  const bin = join(root, "packages/keelson/bin/keelson.js");
  const child = spawn(process.execPath, [bin, "run", "-f", file, "--kubeconfig", cluster.kubeconfig], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  await vi.waitFor(() => expect(output).toMatch(/caches are complete/), { timeout: 40_000 });
  return { child, output: () => output };
}

test("definitions of a file run until a signal", { timeout: 60_000 }, async () => {
  const file = join(home, "good.yaml");
  writeFileSync(file, definition("Good", "ConfigMap"));
  const { child, output } = await running(file);
  expect(output()).toMatch(/^Good of .*good\.yaml run against keelson at https:\/\/127/m);
  const Good = dynamicKind({
    group: "kro.run",
    version: "v1alpha1",
    kind: "Good",
    resource: "goods",
    scope: "Namespaced",
  });
  const ref = { namespace: "default", name: "one" };
  await vi.waitFor(() => cluster.client.kind(Good).create({ metadata: ref }), { timeout: 20_000 });
  await vi.waitFor(() => cluster.client.kind(ConfigMap).get(ref), { timeout: 20_000 });
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
});

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: nests.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { kind: Nest, plural: nests, singular: nest }
  versions:
  - name: v1
    served: true
    storage: true
    subresources: { status: {} }
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`;

const composite = (child: string, url: string) => `apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: { name: nests }
spec:
  generateSelector: true
  parentResource: { apiVersion: example.com/v1, resource: nests }
  childResources: [{ apiVersion: v1, resource: ${child}, updateStrategy: { method: InPlace } }]
  hooks: { sync: { webhook: { url: "${url}" } } }
`;

const planned = (kind: string) => `apiVersion: plans.keelson.dev/v1alpha1
kind: PlanDefinition
metadata: { name: wiki }
spec:
  resource: { group: example.com, version: v1, kind: Wiki }
  parameters: { text: { type: string, default: hello } }
  plans:
    deploy:
      phases:
      - name: run
        steps:
        - name: page
          apply: [{ apiVersion: v1, kind: ${kind}, metadata: { name: "\${name}-page" }, data: { text: "\${parameters.text}" } }]
`;

test("mistakes in hooks and plans are sentences with their file, too", async () => {
  const folder = join(home, "bad");
  mkdirSync(folder);
  writeFileSync(join(folder, "hook.yaml"), `${crd}---\n${composite("confmaps", "http://127.0.0.1:1/")}`);
  writeFileSync(join(folder, "plan.yaml"), planned("Confmap"));
  const { code, said } = await say("run", "-f", folder);
  expect(code).toBe(1);
  expect(said.trim().split("\n")).toEqual([
    expect.stringMatching(/hook\.yaml:15: .*confmaps/),
    expect.stringMatching(
      /plan\.yaml:1: PlanDefinition wiki names Confmap of v1, which the cluster does not serve/,
    ),
  ]);
  const { said: installed } = await say("install", "-f", folder);
  expect(installed).toMatch(/hook\.yaml:15: /);
});

test("hooks and plans of a folder run beside graphs", { timeout: 60_000 }, async () => {
  const hook = createServer((request, response) => {
    request.resume().once("end", () => {
      const child = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "egg" }, data: { size: "1" } };
      response.end(JSON.stringify({ status: {}, children: [child] }));
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/sync`;
  const folder = join(home, "all");
  mkdirSync(folder);
  writeFileSync(join(folder, "graph.yaml"), definition("Great", "ConfigMap"));
  writeFileSync(join(folder, "hook.yaml"), `${crd}---\n${composite("configmaps", url)}`);
  writeFileSync(join(folder, "plan.yaml"), planned("ConfigMap"));
  const { child, output } = await running(folder);
  expect(output()).toMatch(
    /^Great, CompositeController nests, PlanDefinition wiki of .* run against keelson/m,
  );
  const kind = (name: string, resource: string) =>
    cluster.client.kind(
      dynamicKind({ group: "example.com", version: "v1", kind: name, resource, scope: "Namespaced" }),
    );
  await kind("Nest", "nests").create({ metadata: { namespace: "default", name: "nest" } });
  await vi.waitFor(
    () => kind("Wiki", "wikis").create({ metadata: { namespace: "default", name: "w" }, spec: {} } as never),
    {
      timeout: 20_000,
    },
  );
  for (const name of ["egg", "w-page"]) {
    const ref = { namespace: "default", name };
    await vi.waitFor(() => cluster.client.kind(ConfigMap).get(ref), { timeout: 20_000 });
  }
  const { said } = await say("install", "-f", folder);
  expect(said).toContain(
    "has a CompositeController, which keelson install does not run yet; keelson run -f does",
  );
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  hook.close();
});
