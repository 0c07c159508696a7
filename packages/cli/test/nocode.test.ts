/** Operators without code from the command line: what is refused, what is installed, and what runs. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, startCluster } from "@keelson/cluster";
import { dynamicKind } from "@keelson/core";
import { ClusterRole, ConfigMap, Deployment } from "@keelson/core/kinds";
import { ResourceGraphDefinition } from "@keelson/graphs";
import { CompositeController } from "@keelson/hooks";
import { PlanDefinition } from "@keelson/plans";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { parse, stringify } from "yaml";
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

async function resources(): Promise<string[]> {
  const { rules = [] } = await cluster.client.kind(ClusterRole).get({ name: "nocode" });
  return rules.flatMap((rule) => rule.resources ?? []).sort();
}

async function installed() {
  const ref = { namespace: "keelson-nocode", name: "nocode" };
  const { spec } = await cluster.client.kind(Deployment).get(ref);
  const { image, env = [] } = spec?.template.spec?.containers[0] ?? {};
  return { image, env };
}

test("a cluster without definitions is told so", async () => {
  expect(await say("install")).toEqual({
    code: 1,
    said:
      "the cluster has no definitions that could run; give some with -f, or take an installation away with " +
      "kubectl delete namespace keelson-nocode\n",
  });
});

test("what is installed has the role that the definitions need, and it changes with them", async () => {
  const file = join(home, "good.yaml");
  writeFileSync(file, definition("Good", "ConfigMap"));
  expect((await say("install", "-f", file)).said).toBe(
    "1 definition and the Deployment keelson-nocode/nocode are applied\n",
  );
  expect(await resources()).toContain("configmaps");
  expect(await resources()).toContain("goods");
  // Nothing that hooks and plans would need.
  expect(await resources()).not.toContain("compositecontrollers");
  expect(await resources()).not.toContain("plandefinitions");
  const { image, env } = await installed();
  expect(image).toMatch(/^keelson-nocode:/);
  expect(env).toContainEqual({ name: "KEELSON_DEFINITIONS", value: "graphs" });
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
    expect.stringMatching(
      /plan\.yaml:1: PlanDefinition wiki names Confmap of v1, which the cluster does not serve/,
    ),
    expect.stringMatching(/hook\.yaml:15: .*confmaps/),
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
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  hook.close();
});

/** What the Deployment would run, as its ServiceAccount and with its variables. */
async function runAsInstalled(): Promise<{ child: ChildProcess; output: () => string }> {
  const account = { namespace: "keelson-nocode", name: "nocode" };
  const { status } = (await cluster.client.raw({
    method: "POST",
    path: `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  })) as { status: { token: string } };
  const config = parse(readFileSync(cluster.kubeconfig, "utf8"));
  for (const user of config.users) user.user = { token: status.token };
  const kubeconfig = join(home, "account.yaml");
  writeFileSync(kubeconfig, stringify(config));
  const { env } = await installed();
  const program = join(root, "packages/nocode/src/main.ts");
  const child = spawn(process.execPath, ["--conditions=keelson-source", program], {
    env: {
      ...process.env,
      ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
      KUBECONFIG: kubeconfig,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  return { child, output: () => output };
}

test("graphs, hooks and plans run under the role that they were installed with", {
  timeout: 60_000,
}, async () => {
  const hook = createServer((request, response) => {
    request.resume().once("end", () => {
      const child = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "egg-2" }, data: { size: "2" } };
      response.end(JSON.stringify({ status: { eggs: 1 }, children: [child] }));
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/sync`;
  const folder = join(home, "installed");
  mkdirSync(folder);
  writeFileSync(join(folder, "graph.yaml"), definition("Great", "ConfigMap"));
  writeFileSync(join(folder, "hook.yaml"), `${crd}---\n${composite("configmaps", url)}`);
  writeFileSync(join(folder, "plan.yaml"), planned("ConfigMap"));
  expect((await say("install", "-f", folder)).said).toBe(
    "3 definitions and the Deployment keelson-nocode/nocode are applied\n",
  );
  expect((await installed()).env).toContainEqual({
    name: "KEELSON_DEFINITIONS",
    value: "graphs,hooks,plans",
  });
  expect(await resources()).toEqual(expect.arrayContaining(["nests", "nests/status", "wikis", "greats"]));
  // A hook's Service is reached by its name there, without a forwarded port.
  expect(await resources()).not.toContain("pods/portforward");

  const { child, output } = await runAsInstalled();
  const at = (name: string) => ({ namespace: "default", name });
  const kind = (group: string, version: string, name: string, resource: string) =>
    cluster.client.kind(dynamicKind({ group, version, kind: name, resource, scope: "Namespaced" }));
  await kind("example.com", "v1", "Nest", "nests").create({ metadata: at("nest-2") });
  const others = [
    kind("example.com", "v1", "Wiki", "wikis").create({ metadata: at("w-2"), spec: {} } as never),
    vi.waitFor(() => kind("kro.run", "v1alpha1", "Great", "greats").create({ metadata: at("great-2") }), {
      timeout: 20_000,
    }),
  ];
  await Promise.all(others);
  for (const name of ["egg-2", "w-2-page", "great-2"]) {
    await vi.waitFor(() => cluster.client.kind(ConfigMap).get(at(name)), { timeout: 20_000 });
  }
  expect(output()).not.toMatch(/forbidden/);
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  hook.close();
});

test("the role shrinks with the definitions, and what cannot run is told", async () => {
  for (const kind of [CompositeController, PlanDefinition]) {
    for (const { metadata } of (await cluster.client.kind(kind).list()).items) {
      const { name } = metadata;
      const body = { metadata: { finalizers: null } } as never;
      await cluster.client.kind(kind).patch({ name }, { type: "merge", body });
      if (kind === PlanDefinition) await cluster.client.kind(kind).delete({ name });
    }
  }
  const childResources = [{ apiVersion: "v1", resource: "confmaps" }];
  const broken = { spec: { childResources } } as never;
  await cluster.client.kind(CompositeController).patch({ name: "nests" }, { type: "merge", body: broken });
  const { code, said } = await say("install");
  expect(code).toBe(0);
  expect(said).toMatch(
    /^CompositeController nests of the cluster cannot run, and the role holds nothing for it: .*confmaps/,
  );
  expect((await installed()).env).toContainEqual({ name: "KEELSON_DEFINITIONS", value: "graphs" });
  expect(await resources()).not.toContain("nests");
  expect(await resources()).not.toContain("plandefinitions");
});
