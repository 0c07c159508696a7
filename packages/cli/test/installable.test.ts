/** What `keelson generate` writes is taken by the embedded API server and by the real one, field by field. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiServer } from "@keelson/apiserver";
import { type Client, connect, createClient, isAlreadyExists } from "@keelson/client";
import { ConfigMap, Namespace } from "@keelson/core/kinds";
import { startControlPlane } from "@keelson/reference/control-plane";
import { locateKubernetes } from "@keelson/reference/locate";
import { controller, deny, done, webhook } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { differences, generatedFiles, writeGenerated } from "../src/generate/generated-files.ts";
import type { Manifest } from "../src/generate/manifests.ts";
import { siteOf } from "../src/generate/project-site.ts";
import { loadOperator, type OperatorParts, type Project, readProject } from "../src/project.ts";

const root = join(import.meta.dirname, "../../..");
const real = locateKubernetes();

const Schedule = resource({
  group: "batch.example.com",
  kind: "Schedule",
  versions: {
    v1beta1: { spec: z.object({ at: z.string().max(9) }) },
    v1: { spec: z.object({ hour: z.string().max(9) }) },
  },
  storage: "v1",
  conversions: {
    v1beta1: {
      toStored: ({ spec }) => ({ spec: { hour: spec.at } }),
      fromStored: ({ spec }) => ({ spec: { at: spec.hour } }),
    },
  },
});

/** Webhooks, conversion, and three namespaces. */
const webhooks: OperatorParts = {
  name: "schedule-operator",
  namespaces: ["red", "blue", "schedule-operator"],
  resources: [Schedule],
  controllers: [controller(Schedule, { owns: { config: ConfigMap }, reconcile: async () => done() })],
  webhooks: [webhook(ConfigMap, { name: "guard", failurePolicy: "Ignore", validate: () => deny("no") })],
  policies: [],
};

interface Generated {
  readonly name: string;
  readonly folder: string;
  readonly files: ReadonlyMap<string, string>;
}

let home = "";
const generated: Generated[] = [];
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "klinstall-"));
  const names = ["memcached", "sampledb", "etcd", "database"];
  const projects = names.map((name) => readProject(join(root, "operators", name)));
  const all: [Project, OperatorParts][] = [];
  for (const project of projects) all.push([project, await loadOperator(project)]);
  const [first] = projects;
  if (first) all.push([{ ...first, directory: home, name: "schedule-operator" }, webhooks]);
  for (const [project, parts] of all) {
    const folder = join(home, parts.name);
    const files = generatedFiles(project, parts, { site: siteOf(project, parts, {}), folder });
    writeGenerated(folder, files, differences(folder, files));
    generated.push({ name: parts.name, folder, files });
  }
});
afterAll(() => rmSync(home, { recursive: true }));

function objectsIn(text: string): Manifest[] {
  const documents = parseAllDocuments(text) as unknown as { toJS(): Manifest | null }[];
  return documents.map((document) => document.toJS()).filter((each) => each !== null);
}

/** Every field must be known to the server: what it would drop is refused. */
async function applyAll(client: Client, manifests: readonly Manifest[]): Promise<void> {
  for (const namespace of new Set(manifests.flatMap(({ metadata }) => metadata.namespace ?? []))) {
    await client
      .kind(Namespace)
      .create({ metadata: { name: namespace } })
      .catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
  }
  for (const manifest of manifests) {
    const kind = await client.discover(manifest.apiVersion, manifest.kind);
    await client.kind(kind).apply(manifest as never, { force: true, fieldValidation: "Strict" });
  }
}

interface InstallSpec {
  clusterPermissions?: { serviceAccountName: string; rules: object[] }[];
  permissions: { serviceAccountName: string; rules: object[] }[];
  deployments: { name: string; label: object; spec: object }[];
}

/** What the Operator Lifecycle Manager makes of a bundle in a namespace. */
function whatOlmMakes(files: ReadonlyMap<string, string>, namespace: string): Manifest[] {
  const texts = [...files].filter(([path]) => path.startsWith("bundle/manifests/")).map(([, text]) => text);
  const all = texts.flatMap(objectsIn);
  const csv = all.find(({ kind }) => kind === "ClusterServiceVersion") as Manifest & {
    spec: { install: { spec: InstallSpec } };
  };
  const { clusterPermissions = [], deployments, permissions } = csv.spec.install.spec;
  const apiVersion = "rbac.authorization.k8s.io/v1";
  return [
    ...all
      .filter((each) => each !== csv)
      .map((each) =>
        each.kind === "Service" ? { ...each, metadata: { ...each.metadata, namespace } } : each,
      ),
    ...permissions.map(({ rules, serviceAccountName: name }) => ({
      ...{ apiVersion, kind: "Role", metadata: { name, namespace }, rules },
    })),
    ...clusterPermissions.map(({ rules, serviceAccountName: name }) => ({
      ...{ apiVersion, kind: "ClusterRole", metadata: { name: `olm-${name}` }, rules },
    })),
    ...deployments.map(({ name, label, spec }) => ({
      ...{ apiVersion: "apps/v1", kind: "Deployment", spec },
      metadata: { name, namespace, labels: label as Record<string, string> },
    })),
  ];
}

function suite(start: () => Promise<AsyncDisposable & { client: Client }>): void {
  let plane: AsyncDisposable & { client: Client };
  beforeAll(async () => {
    plane = await start();
  }, 60_000);
  afterAll(async () => await plane[Symbol.asyncDispose]());

  test("install.yaml of every operator", { timeout: 60_000 }, async () => {
    for (const { files } of generated)
      await applyAll(plane.client, objectsIn(files.get("install.yaml") ?? ""));
  });

  test("what a lifecycle manager makes of every bundle", { timeout: 60_000 }, async () => {
    for (const { files, name } of generated) await applyAll(plane.client, whatOlmMakes(files, `olm-${name}`));
  });

  test("a role that is broken is refused: the suite would see it", async () => {
    const [{ files } = { files: new Map<string, string>() }] = generated;
    const role = objectsIn(files.get("install.yaml") ?? "").find(({ kind }) => kind === "ClusterRole");
    await expect(applyAll(plane.client, [{ ...role, rule: [] } as never])).rejects.toThrow(/rule/);
  });
}

describe("the embedded API server takes", () => {
  suite(async () => {
    const server = await apiServer();
    const client = createClient({ http: server.http });
    return { client, [Symbol.asyncDispose]: () => server.close() };
  });
});

describe("the real API server takes", () => {
  if ("missing" in real) return test.skip(`nothing here: ${real.missing}`, () => {});
  suite(async () => {
    const plane = await startControlPlane();
    const client = await connect({ kubeconfig: plane.kubeconfig });
    const end = async () => {
      await client.close();
      await plane[Symbol.asyncDispose]();
    };
    return { client, [Symbol.asyncDispose]: end };
  });
});

describe("kustomize makes", () => {
  if ("missing" in real) return test.skip(`nothing here: ${real.missing}`, () => {});
  const build = (folder: string, overlay: string) =>
    objectsIn(
      execFileSync(real.kubectl, ["kustomize", join(folder, "kustomize/overlays", overlay)], {
        encoding: "utf8",
      }),
    );
  const sorted = (objects: readonly Manifest[]) =>
    objects
      .map((each) => [`${each.kind} ${each.metadata.namespace} ${each.metadata.name}`, each] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1));

  test("of the default overlay what install.yaml has", () => {
    for (const { files, folder } of generated) {
      expect(sorted(build(folder, "default"))).toEqual(sorted(objectsIn(files.get("install.yaml") ?? "")));
    }
  });

  test("of the others a ServiceMonitor, and one replica that logs everything", () => {
    const [{ folder } = { folder: "" }] = generated;
    expect(build(folder, "monitoring").map(({ kind }) => kind)).toContain("ServiceMonitor");
    const deployment = build(folder, "development").find(({ kind }) => kind === "Deployment");
    expect(deployment).toMatchObject({
      spec: {
        replicas: 1,
        template: {
          spec: { containers: [{ env: expect.arrayContaining([{ name: "LOG_LEVEL", value: "debug" }]) }] },
        },
      },
    });
  });
});
