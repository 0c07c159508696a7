/** Operators without code from the command line: what is refused, what is installed, and what runs. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
afterAll(async () => {
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

test("definitions of a file run until a signal", { timeout: 60_000 }, async () => {
  const file = join(home, "good.yaml");
  writeFileSync(file, definition("Good", "ConfigMap"));
  const bin = join(root, "packages/keelson/bin/keelson.js");
  const child = spawn(process.execPath, [bin, "run", "-f", file, "--kubeconfig", cluster.kubeconfig], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  await vi.waitFor(() => expect(output).toMatch(/caches are complete/), { timeout: 40_000 });
  expect(output).toMatch(/^Good of .*good\.yaml run against keelson at https:\/\/127/m);
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
