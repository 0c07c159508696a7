/** `keelson deploy` and `undeploy` against an API server of this process, with a hand in place of controllers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiServer } from "@keelson/apiserver";
import { type Client, createClient } from "@keelson/client";
import {
  ClusterRole,
  CustomResourceDefinition,
  Deployment,
  Namespace,
  PersistentVolumeClaim,
  Pod,
} from "@keelson/core/kinds";
import { Images, loadImages } from "@keelson/images";
import { afterEach, expect, test, vi } from "vitest";
import { ociArchive } from "../src/build/oci.ts";
import { tagImage } from "../src/build/tag-image.ts";
import { deploy, undeploy } from "../src/deploy/deploy.ts";
import { inOrder, installationOf, type Manifest } from "../src/generate/manifests.ts";
import { siteOf } from "../src/generate/project-site.ts";
import { loadOperator, readProject } from "../src/project.ts";

afterEach(() => vi.unstubAllEnvs());

const target = { namespace: "memcached-operator", name: "memcached-operator" };
const quiet = () => {};

async function manifests(): Promise<Manifest[]> {
  const project = readProject(join(import.meta.dirname, "../../../operators/memcached"));
  const parts = await loadOperator(project);
  const site = siteOf(project, parts, {});
  return inOrder(installationOf(parts, site), site.values);
}

/** What the controllers of a cluster would do. */
async function report(client: Client, replicas: number): Promise<void> {
  const { metadata } = await client.kind(Deployment).get(target);
  const counts = {
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
  };
  const status = { ...counts, observedGeneration: metadata.generation };
  await client
    .kind(Deployment)
    .subresource("status")
    .patch(target, { type: "merge", body: { status } as never });
}

test("resolves when every replica is available, and says each step", async () => {
  await using server = await apiServer();
  const client = createClient({ http: server.http });
  const steps: string[] = [];
  const deployed = deploy(client, {
    manifests: await manifests(),
    timeoutMs: 20_000,
    onProgress: (step) => {
      steps.push(step);
      if (step === "0 of 2 replicas updated, 0 available") void report(client, 2);
    },
  });
  await deployed;
  expect(steps[0]).toBe("applying CustomResourceDefinition memcacheds.cache.keelson.dev");
  expect(steps.at(-1)).toBe("2 of 2 replicas updated, 2 available");
});

test("what does not become available is told with the reason of its pod", async () => {
  await using server = await apiServer();
  const client = createClient({ http: server.http });
  const all = await manifests();
  const attempt = () => deploy(client, { manifests: all, timeoutMs: 0, onProgress: quiet });
  await expect(attempt()).rejects.toThrow(
    /^Deployment memcached-operator\/memcached-operator is not available after 0 s: no pod was made/,
  );
  const { spec } = await client.kind(Deployment).get(target);
  const labels = spec?.template.metadata?.labels ?? {};
  const pod = { namespace: target.namespace, name: "memcached-operator-1" };
  await client.kind(Pod).create({ metadata: { ...pod, labels }, spec: spec?.template.spec } as never);
  const waiting = { reason: "ErrImagePull", message: "memcached-operator:0.1.0 is not there" };
  const containerStatuses = [
    { name: "operator", image: "", imageID: "", ready: false, restartCount: 0, state: { waiting } },
  ];
  await client
    .kind(Pod)
    .subresource("status")
    .patch(pod, { type: "merge", body: { status: { containerStatuses } } as never });
  await expect(attempt()).rejects.toThrow(
    /memcached-operator-1: ErrImagePull: memcached-operator:0\.1\.0 is not there$/,
  );
});

test("a manifest that is refused is named", async () => {
  await using server = await apiServer();
  const client = createClient({ http: server.http });
  const wrong = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "UPPER", namespace: "default" } };
  await expect(deploy(client, { manifests: [wrong], timeoutMs: 0, onProgress: quiet })).rejects.toThrow(
    /^cannot apply ConfigMap default\/UPPER: /,
  );
});

test("undeploying leaves CRDs, and a namespace with something of its own in it", async () => {
  await using server = await apiServer();
  const client = createClient({ http: server.http });
  const all = await manifests();
  await deploy(client, { manifests: all, timeoutMs: 0, onProgress: quiet }).catch(() => {});
  // Nobody collects what foreground deletion waits for.
  const strip = setInterval(() => {
    void client
      .kind(Deployment)
      .patch(target, { type: "merge", body: { metadata: { finalizers: null } } as never })
      .catch(() => {});
  }, 20);
  const claim = { namespace: target.namespace, name: "data" };
  await client.kind(PersistentVolumeClaim).create({
    metadata: claim,
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  try {
    const left = await undeploy(client, { manifests: all, crds: false, onProgress: quiet });
    expect(left).toEqual([
      "CustomResourceDefinition memcacheds.cache.keelson.dev: its objects would go with it (--crds)",
      "Namespace memcached-operator: it has 1 volume claims",
    ]);
    expect(await client.kind(Deployment).find(target)).toBeUndefined();
    expect(await client.kind(ClusterRole).find({ name: target.name })).toBeUndefined();
    expect(await client.kind(Namespace).find({ name: target.namespace })).toBeDefined();
    expect(
      await client.kind(CustomResourceDefinition).find({ name: "memcacheds.cache.keelson.dev" }),
    ).toBeDefined();
    // Twice is no error.
    await undeploy(client, { manifests: all, crds: false, onProgress: quiet });
  } finally {
    clearInterval(strip);
  }
});

test("kinds whose objects nobody finishes stay, and those objects are named", async () => {
  await using server = await apiServer();
  const client = createClient({ http: server.http });
  const all = await manifests();
  await deploy(client, { manifests: all, timeoutMs: 0, onProgress: quiet }).catch(() => {});
  const Memcached = await client.discover("cache.keelson.dev/v1alpha1", "Memcached");
  const held = { namespace: "default", name: "held", finalizers: ["cache.keelson.dev/cleanup"] };
  await client.kind(Memcached).create({ metadata: held, spec: {} } as never);
  const undeployed = undeploy(client, { manifests: all, crds: true, timeoutMs: 0, onProgress: quiet });
  await expect(undeployed).rejects.toThrow(
    /^Memcached default\/held waits for cache\.keelson\.dev\/cleanup: the operator must finish/,
  );
});

test("an image gets another name, and a name that nothing has is refused", async () => {
  const home = mkdtempSync(join(tmpdir(), "kltag-"));
  vi.stubEnv("KEELSON_CACHE", join(home, "cache"));
  try {
    const config = { Entrypoint: ["/x"], Env: [], WorkingDir: "/", User: "1" };
    const { archive, digest } = ociArchive({ name: "app:1", layers: [], architecture: "amd64", config });
    const { writeFileSync } = await import("node:fs");
    writeFileSync(join(home, "app.tar"), archive);
    await loadImages(join(home, "app.tar"));
    expect(await tagImage("app:1", "registry.example.com/team/app:v1", quiet)).toEqual({
      name: "registry.example.com/team/app:v1",
      digest,
    });
    expect((await new Images().find("registry.example.com/team/app:v1"))?.repoDigest).toContain(digest);
    await expect(tagImage("absent:1", "app:2", quiet)).rejects.toThrow(/absent:1 is not on this machine/);
  } finally {
    rmSync(home, { recursive: true });
  }
});
