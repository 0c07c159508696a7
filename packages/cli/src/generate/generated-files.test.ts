/** Everything that `keelson generate` writes, for operators of several forms. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ConfigMap, StorageClass } from "@keelson/core/kinds";
import { all, controller, deny, done, webhook } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import type { OperatorParts, Project } from "../project.ts";
import { differences, generatedFiles, writeGenerated } from "./generated-files.ts";
import { siteOf } from "./project-site.ts";

const Cache = resource({
  group: "cache.example.com",
  kind: "Cache",
  version: "v1",
  description: "A cache, as {{ templates }} of others would break.",
  spec: z.object({ size: z.int().min(1).max(9).default(3) }),
});
const reconcile = async () => done();
const cache = controller(Cache, {
  owns: { config: ConfigMap },
  reads: { classes: all(StorageClass) },
  reconcile,
});

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "klgen-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const parts = (more: Partial<OperatorParts> = {}): OperatorParts => ({
  ...{ name: "cache-operator", resources: [Cache], controllers: [cache], webhooks: [], policies: [] },
  ...more,
});

function project(more: Partial<Project> = {}): Project {
  return {
    ...{ directory, name: "cache-operator", version: "1.2.3", dependencies: {}, entry: "", main: "" },
    ...more,
  };
}

function put(path: string, text: string): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), text);
}

function made(the = parts(), of = project()): Record<string, string> {
  const folder = join(directory, "deploy");
  return Object.fromEntries(generatedFiles(of, the, { site: siteOf(of, the, {}), folder }));
}

interface Found {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: { resources: string[] }[];
  spec?: Record<string, never>;
}

/** The objects of a file, by kind. */
function objects(text: string | undefined, kind: string): Found[] {
  const documents = parseAllDocuments(text ?? "") as unknown as { toJS(): Found }[];
  return documents.map((document) => document.toJS()).filter((each) => each?.kind === kind);
}

describe("roles", () => {
  const scopes = (found: Found[]) =>
    found.map(({ metadata, rules }) => [
      metadata.namespace,
      ...new Set(rules?.flatMap(({ resources }) => resources)),
    ]);

  test("of an operator for all namespaces are one ClusterRole, and a Role for its Lease", () => {
    const { "install.yaml": text } = made();
    const [own] = objects(text, "ClusterRole");
    expect(scopes(own ? [own] : [])).toEqual([
      [undefined, "configmaps", "caches", "caches/finalizers", "caches/status", "events", "storageclasses"],
    ]);
    expect(scopes(objects(text, "Role"))).toEqual([["cache-operator", "leases"]]);
  });

  test("of an operator for several namespaces are a Role in each, and a ClusterRole for what has no namespace", () => {
    const { "install.yaml": text } = made(parts({ namespaces: ["red", "blue", "cache-operator"] }));
    const namespaced = ["configmaps", "caches", "caches/finalizers", "caches/status", "events"];
    expect(scopes(objects(text, "Role"))).toEqual([
      ["cache-operator", "leases", ...namespaced],
      ["red", ...namespaced],
      ["blue", ...namespaced],
    ]);
    const [own] = objects(text, "ClusterRole");
    expect(scopes(own ? [own] : [])).toEqual([[undefined, "storageclasses"]]);
    expect(objects(text, "RoleBinding").map(({ metadata }) => metadata.namespace)).toEqual([
      "cache-operator",
      "red",
      "blue",
    ]);
  });

  test("of an operator that reads nothing without a namespace have no ClusterRole of its own", () => {
    const plain = controller(Cache, { reconcile });
    const { "install.yaml": text } = made(parts({ controllers: [plain], namespaces: ["red"] }));
    expect(objects(text, "ClusterRole").map(({ metadata }) => metadata.name)).toEqual([
      "cache-operator-edit",
      "cache-operator-view",
    ]);
    expect(objects(text, "ClusterRoleBinding")).toEqual([]);
  });
});

test("values of the project are in its manifests, its chart and its bundle", () => {
  put(
    "values.yaml",
    `replicas: 3
image: { repository: registry.example.com/cache }
env: [{ name: REGION, value: north }]
volumes: [{ name: scratch, emptyDir: {} }]
volumeMounts: [{ name: scratch, mountPath: /tmp }]
metrics: { serviceMonitor: { enabled: true } }
`,
  );
  const files = made();
  expect(objects(files["install.yaml"], "Deployment")[0]?.spec).toMatchObject({
    replicas: 3,
    template: {
      spec: {
        volumes: [{ name: "scratch" }],
        containers: [
          {
            image: "registry.example.com/cache:1.2.3",
            env: expect.arrayContaining([{ name: "REGION", value: "north" }]),
            volumeMounts: [{ mountPath: "/tmp" }],
          },
        ],
      },
    },
  });
  expect(objects(files["install.yaml"], "ServiceMonitor")).toHaveLength(1);
  expect(parse(files["chart/cache-operator/values.yaml"] ?? "")).toMatchObject({
    replicas: 3,
    image: { repository: "registry.example.com/cache", tag: "" },
    env: [{ name: "REGION", value: "north" }],
  });
  expect(files["bundle/manifests/cache-operator.clusterserviceversion.yaml"]).toContain("value: north");
});

test.each([
  ["replicas: many\n", /values\.yaml is invalid: replicas: /],
  ["replica: 3\n", /values\.yaml is invalid: it: Unrecognized key: "replica"/],
  ["env: [{ value: x }]\n", /values\.yaml is invalid: env\.0\.name: /],
  ["a: [\n", /values\.yaml is not YAML: /],
])("values that are wrong are named with their place: %j", (text, sentence) => {
  put("values.yaml", text);
  expect(() => made()).toThrow(sentence);
});

test("the chart takes from values what the manifests take, and keeps what looks like a template as text", () => {
  const files = made();
  const deployment = files["chart/cache-operator/templates/deployment.yaml"] ?? "";
  expect(deployment).toContain("  replicas: {{ .Values.replicas }}\n");
  expect(deployment).toContain('image: {{ include "cache-operator.image" . | quote }}\n');
  expect(deployment).toContain(
    "          {{- with .Values.resources }}\n          resources:\n            {{- toYaml . | nindent 12 }}\n          {{- end }}\n",
  );
  expect(deployment).toContain(
    "            {{- with .Values.env }}\n            {{- toYaml . | nindent 12 }}\n            {{- end }}\n",
  );
  expect(deployment).not.toContain("⟪");
  const crd = files["chart/cache-operator/templates/crds/caches.cache.example.com.yaml"] ?? "";
  expect(crd).toContain('as {{ "{{" }} templates }} of others');
  expect(crd).toContain("helm.sh/resource-policy: keep");
  expect(crd).toMatch(/^# .*\n\{\{- if \.Values\.crds\.install \}\}\n/);
  expect(JSON.parse(files["chart/cache-operator/values.schema.json"] ?? "")).toMatchObject({
    properties: { replicas: { type: "integer", minimum: 0 } },
    additionalProperties: false,
  });
});

describe("the bundle", () => {
  const csv = (files: Record<string, string>) =>
    parse(files["bundle/manifests/cache-operator.clusterserviceversion.yaml"] ?? "") as {
      metadata: { annotations: Record<string, string> };
      spec: {
        install: { spec: { clusterPermissions?: object[]; permissions: { rules: object[] }[] } };
        webhookdefinitions?: Record<string, unknown>[];
      };
    };

  test("has an example of each kind: the project's own, or the smallest that the schema allows", () => {
    const examples = () => JSON.parse(csv(made()).metadata.annotations["alm-examples"] ?? "") as object[];
    expect(examples()).toEqual([
      { apiVersion: "cache.example.com/v1", kind: "Cache", metadata: { name: "example" }, spec: {} },
    ]);
    put("examples/cache.yaml", "apiVersion: cache.example.com/v1\nkind: Cache\nspec: { size: 5 }\n");
    expect(examples()).toEqual([{ apiVersion: "cache.example.com/v1", kind: "Cache", spec: { size: 5 } }]);
  });

  test("has an example of each version, by the author's own conversion", () => {
    const Schedule = resource({
      group: "batch.example.com",
      kind: "Schedule",
      versions: {
        v1beta1: { spec: z.object({ at: z.string() }) },
        v1: { spec: z.object({ hour: z.string() }) },
      },
      storage: "v1",
      conversions: {
        v1beta1: {
          toStored: ({ spec }) => ({ spec: { hour: spec.at } }),
          fromStored: ({ spec }) => ({ spec: { at: spec.hour } }),
        },
      },
    });
    const { annotations } = csv(made(parts({ resources: [Schedule] }))).metadata;
    expect(JSON.parse(annotations["alm-examples"] ?? "")).toEqual([
      expect.objectContaining({ apiVersion: "batch.example.com/v1", spec: { hour: "example" } }),
      expect.objectContaining({ apiVersion: "batch.example.com/v1beta1", spec: { at: "example" } }),
    ]);
  });

  test("claims a capability level that there is", () => {
    const claim = (capabilities: string) => made(parts(), project({ about: { bundle: { capabilities } } }));
    expect(csv(claim("full lifecycle")).metadata.annotations["capabilities"]).toBe("Full Lifecycle");
    expect(() => claim("Perfect")).toThrow(
      /capabilities in package\.json is "Perfect"; it must be one of Basic/,
    );
  });

  test("leaves webhooks and their certificate to the lifecycle manager", () => {
    const guard = webhook(ConfigMap, { name: "guard", validate: () => deny("no") });
    const files = made(parts({ webhooks: [guard] }));
    const { install, webhookdefinitions } = csv(files).spec;
    expect(webhookdefinitions).toEqual([
      expect.objectContaining({
        type: "ValidatingAdmissionWebhook",
        deploymentName: "cache-operator",
        webhookPath: "/validate/guard",
      }),
    ]);
    const text = JSON.stringify(install);
    expect(text).toContain('"resourceNames":["cache-operator-service-cert"]');
    expect(text).not.toContain("validatingwebhookconfigurations");
    expect(text).toContain('{"name":"WEBHOOK_CERTIFICATES","value":"given"}');
  });

  test("joins those of earlier releases in the catalog", () => {
    const write = (version: string) => {
      const files = made(parts(), project({ version }));
      for (const [path, text] of Object.entries(files)) put(`deploy/${path}`, text);
    };
    for (const version of ["1.10.0-rc.1", "1.9.0", "1.10.0"]) write(version);
    const text = readFileSync(join(directory, "deploy/catalog/cache-operator/index.yaml"), "utf8");
    const [, channel] = (parseAllDocuments(text) as unknown as { toJS(): object }[]).map((each) =>
      each.toJS(),
    );
    expect(channel).toMatchObject({
      entries: [
        { name: "cache-operator.v1.9.0" },
        { name: "cache-operator.v1.10.0-rc.1", replaces: "cache-operator.v1.9.0" },
        { name: "cache-operator.v1.10.0", replaces: "cache-operator.v1.10.0-rc.1" },
      ],
    });
  });
});

test("files on disk are compared, written, and removed when they are made no longer", () => {
  const folder = join(directory, "deploy");
  const files = new Map(Object.entries(made()));
  const first = differences(folder, files);
  expect(first).toEqual({ missing: [...files.keys()], changed: [], left: [] });
  writeGenerated(folder, files, first);
  expect(differences(folder, files)).toEqual({ missing: [], changed: [], left: [] });
  put("deploy/install.yaml", "edited\n");
  put("deploy/kustomize/base/mine.yaml", "mine: true\n");
  files.delete("kustomize/base/rbac.yaml");
  const found = differences(folder, files);
  expect(found).toEqual({ missing: [], changed: ["install.yaml"], left: ["kustomize/base/rbac.yaml"] });
  writeGenerated(folder, files, found);
  expect(differences(folder, files)).toEqual({ missing: [], changed: [], left: [] });
  expect(readFileSync(join(folder, "kustomize/base/mine.yaml"), "utf8")).toBe("mine: true\n");
});
