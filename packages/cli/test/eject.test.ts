/** What `keelson eject` writes does what the graph did: the same objects, the same status, and it takes over. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of definitions stand in plain texts.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type AnyKind, dynamicKind, type JsonObject, type KubeObject, type Stored } from "@keelson/core";
import {
  ClusterRole,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  PodDisruptionBudget,
  Secret,
  Service,
} from "@keelson/core/kinds";
import { checkDefinitions, clusterFacts, graphRole, graphs, ResourceGraphDefinition } from "@keelson/graphs";
import { type Controller, install } from "@keelson/runtime";
import type { CustomResourceDefinitionObject, Resource } from "@keelson/schema";
import { type Cluster, type ClusterOptions, cluster } from "@keelson/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { main } from "../src/main.ts";

const root = join(import.meta.dirname, "../../..");
let work: string;
let said = "";
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), "keelson-eject-"));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

async function keelson(...args: string[]): Promise<[output: string, code: number]> {
  said = "";
  process.exitCode = undefined;
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((chunk) => {
      said += String(chunk);
      return true;
    });
  }
  const code = await main(args);
  vi.restoreAllMocks();
  return [said, code];
}

/** A new project with the repository's own packages and tools in place of an installation. */
async function project(name: string): Promise<string> {
  const directory = join(work, name);
  expect((await keelson("init", directory, "--no-install", "--yes"))[1]).toBe(0);
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  return directory;
}

function run(directory: string, command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(join(root, "node_modules/.bin", command), args, {
    cwd: directory,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", NODE_OPTIONS: "--conditions=keelson-source" },
  });
  return status === 0 ? "passed" : stripVTControlCharacters(stdout + stderr);
}

function passesItsChecks(directory: string): void {
  expect(run(directory, "biome", "ci", "--error-on-warnings", ".")).toBe("passed");
  // Against the declarations that users get: `npm run build` writes them.
  if (existsSync(join(root, "packages/nocode/dist/index.d.ts"))) expect(run(directory, "tsc")).toBe("passed");
}

const widgetCrd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { kind: Widget, plural: widgets, singular: widget, listKind: WidgetList }
  versions:
  - name: v1
    served: true
    storage: true
    subresources: { status: {} }
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: { type: object, properties: { size: { type: integer } } }
          status: { type: object, properties: { url: { type: string } } }
`;

const site = `apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: { name: site }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Site
    types:
      Page: { path: string | required=true, weight: float | default=1 }
    spec:
      title: string | required=true minLength=1 maxLength=20 pattern="^[a-z/]+$"
      size: integer | default=2 minimum=1 maximum=9 description="How many, \\"at most\\" nine."
      mode: string | enum="open,closed" default="open"
      tags: "[]string | minItems=0"
      extra: "map[string]string"
      pages: "[]Page"
      cache:
        enabled: boolean | default=false
        name: string
      secret: string | default="login"
      free: object
    status:
      url: \${widget.status.url}
      user: \${string(login.data.user)}
      names: ["\${first.metadata.name}", "\${widget.metadata.name}"]
      parts:
        count: \${size(parts)}
        last: \${parts[size(parts) - 1].metadata.name}
      half: \${double(schema.spec.size) / 2.0}
  resources:
  - id: login
    externalRef:
      apiVersion: v1
      kind: Secret
      metadata: { name: "\${schema.spec.secret}" }
  - id: others
    externalRef:
      apiVersion: v1
      kind: ConfigMap
      metadata: { selector: { matchLabels: { site: shared } } }
  - id: first
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: \${schema.spec.title}-first
        labels: { "a.b/c": "\${schema.spec.mode}" }
      data:
        size: \${string(schema.spec.size)}
        double: \${string(schema.spec.size * 2)}
        title: Welcome to \${schema.spec.title} in \${schema.metadata.namespace}
        open: "\${schema.spec.mode == 'open' && schema.spec.size > 1 ? 'yes' : 'no'}"
        user: \${string(login.data.user)}
        shared: \${string(size(others))}
        extra: \${schema.spec.?extra.a.orValue('none')}
        upper: \${schema.spec.title.upperAscii()}
        left: "\${has(schema.spec.cache.name) ? schema.spec.cache.name : omit()}"
  - id: parts
    forEach:
    - tag: \${schema.spec.tags}
    - letter: "\${['x', 'y']}"
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.spec.title}-\${tag}-\${letter}" }
      data: { tag: "\${tag}", first: "\${first.data.size}" }
    readyWhen: ["\${each.metadata.name != ''}"]
  - id: cache
    includeWhen: ["\${schema.spec.cache.enabled}", "\${first.data.size != '9'}"]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}-cache" }
      data: { pages: "\${json.marshal(schema.spec.pages)}" }
  - id: afterCache
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${cache.metadata.name}-user" }
  - id: widget
    readyWhen: ["\${widget.status.url != ''}"]
    template:
      apiVersion: example.com/v1
      kind: Widget
      metadata: { name: "\${schema.metadata.name}" }
      spec: { size: "\${schema.spec.size}" }
  - id: role
    template:
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: { name: "site-\${schema.metadata.name}" }
      rules: [{ apiGroups: [""], resources: [configmaps], verbs: [get], resourceNames: ["\${widget.status.url}"] }]
`;

const at = (name: string) => ({ namespace: "default", name });
const kindOf = (kind: string, resource: string, group = "kro.run", version = "v1alpha1") =>
  dynamicKind({ group, version, kind, resource, scope: "Namespaced" });
const Widget = kindOf("Widget", "widgets", "example.com", "v1");

/** What differs between two clusters although nothing is different. */
function comparable({ metadata, ...object }: Stored): object {
  const { uid: _, resourceVersion: __, creationTimestamp: ___, managedFields, ...rest } = metadata;
  const labels = { ...rest.labels };
  if (labels["kro.run/instance-id"] !== undefined) labels["kro.run/instance-id"] = "";
  const { status: ____, ...kept } = object as { status?: unknown };
  const managers = (managedFields as { manager?: string; fieldsV1?: JsonObject }[] | undefined)
    ?.filter(({ manager }) => manager === "kro.run/applyset")
    .map(({ fieldsV1 }) => fieldsV1);
  return { ...kept, metadata: { ...rest, labels, managers } };
}

async function objects(c: Cluster, kinds: readonly AnyKind[]): Promise<object[]> {
  const all: object[] = [];
  for (const kind of kinds) {
    const { items } = await c.client.kind(kind).list();
    const made = (items as readonly Stored[]).filter(({ metadata }) => metadata.labels?.["kro.run/owned"]);
    all.push(...made.map((each) => comparable({ ...each, kind: kind.kind })));
  }
  return all;
}

interface Story {
  readonly kind: AnyKind;
  readonly children: readonly AnyKind[];
  readonly prepare: (c: Cluster) => Promise<void>;
  /** Each is followed by a rest, and a comparison. */
  readonly changes: readonly ((c: Cluster) => Promise<unknown>)[];
}

/** What the world looks like after each change. */
async function tell(c: Cluster, story: Story): Promise<object[]> {
  await story.prepare(c);
  const told: object[] = [];
  for (const change of story.changes) {
    await change(c);
    await c.converges({ ready: false });
    const [instance] = (await c.client.kind(story.kind).list()).items as (Stored & { status?: JsonObject })[];
    const { conditions, observedGeneration: _, inventory: __, ...status } = instance?.status ?? {};
    const ready = (conditions as { type: string; status: string }[] | undefined)?.find(
      ({ type }) => type === "Ready",
    );
    told.push({ status, ready: ready?.status, objects: await objects(c, story.children) });
  }
  return told;
}

const documents = (yaml: string) =>
  (parseAllDocuments(yaml) as { toJS(): KubeObject }[]).map((each) => each.toJS());

async function graphCluster(yaml: string, options: ClusterOptions): Promise<Cluster> {
  await using empty = await cluster();
  const all = documents(yaml);
  const crds = all.filter(({ kind }) => kind === "CustomResourceDefinition");
  const definitions = all.filter(({ kind }) => kind === "ResourceGraphDefinition") as never[];
  const checked = await checkDefinitions(definitions, clusterFacts(empty.client), crds as never[]);
  const rules = graphRole(checked.flatMap(({ graph }) => (graph ? [{ graph }] : [])));
  const c = await cluster({ controllers: [graphs()], rules, ...options });
  for (const crd of crds) await c.client.kind(CustomResourceDefinition).create(crd as never);
  for (const each of definitions) await c.client.kind(ResourceGraphDefinition).create(each);
  await c.converges({ ready: false });
  return c;
}

async function ejectedCluster(
  controller: Controller,
  yaml: string,
  options: ClusterOptions,
): Promise<Cluster> {
  const crds = documents(yaml).filter(({ kind }) => kind === "CustomResourceDefinition");
  const resources = crds.map((crd) => ({ crd: () => crd as never }));
  return await cluster({ controllers: [controller], resources, ...options });
}

/** The same story with the graph and with what was ejected, then what was ejected takes over from the graph. */
async function doesTheSame(
  yaml: string,
  ejected: { controller: Controller; resource: Resource },
  story: Story,
  options: ClusterOptions = {},
): Promise<void> {
  await using before = await graphCluster(yaml, options);
  const expected = await tell(before, story);
  await using after = await ejectedCluster(ejected.controller, yaml, options);
  expect(await tell(after, story)).toEqual(expected);
  expect(after.forbidden).toEqual([]);

  for (const { metadata } of (await before.client.kind(ResourceGraphDefinition).list()).items) {
    await before.client.kind(ResourceGraphDefinition).delete({ name: metadata.name });
  }
  await before.advance(5_000);
  await install(before.client, [ejected.resource]);
  const children = await objects(before, story.children);
  await using taken = await cluster({
    controllers: [ejected.controller],
    from: before.snapshot(),
  });
  await taken.converges({ ready: false });
  expect(await objects(taken, story.children)).toEqual(children);
  const resources = new Set(story.children.map(({ resource }) => resource));
  expect(taken.writes.filter(({ resource }) => resources.has(resource ?? ""))).toEqual([]);
  for (const { metadata } of (await taken.client.kind(story.kind).list()).items) {
    await taken.client.kind(story.kind).delete({ namespace: metadata.namespace, name: metadata.name });
  }
  await taken.until(async () => (await taken.client.kind(story.kind).list()).items.length === 0);
  expect(await objects(taken, story.children)).toEqual([]);
}

async function ejected(directory: string, folder: string, kind: string) {
  const controllers = (await import(join(directory, `src/${folder}/controller.ts`))) as Record<
    string,
    Controller
  >;
  const resources = (await import(join(directory, `src/${folder}/api.ts`))) as Record<string, Resource>;
  return {
    controller: Object.values(controllers)[0] as Controller,
    resource: resources[kind] as Resource,
  };
}

describe("an ejected graph", { timeout: 120_000 }, () => {
  test("of the example makes the same, and takes over without a write", async () => {
    const directory = await project("first-operator");
    const file = join(root, "examples/nocode/memcached.yaml");
    const [output, code] = await keelson("eject", "-f", file, "--directory", directory);
    expect([output, code]).toEqual([expect.stringContaining("16 of 16 expressions are TypeScript"), 0]);
    expect(readFileSync(join(directory, "package.json"), "utf8")).not.toContain("@keelson/graphs");
    passesItsChecks(directory);
    const Memcached = kindOf("Memcached", "memcacheds");
    const patch = (spec: JsonObject) => (c: Cluster) =>
      c.client.kind(Memcached).patch(at("one"), { type: "merge", body: { spec } as never });
    const story: Story = {
      kind: Memcached,
      children: [Deployment, Service, PodDisruptionBudget],
      prepare: async () => {},
      changes: [
        (c) => c.client.kind(Memcached).create({ metadata: at("one") }),
        patch({ size: 1, memoryMiB: 128 }),
        patch({ size: 3 }),
        (c) => c.client.kind(Service).delete(at("one")),
      ],
    };
    const made = await ejected(directory, "memcached", "Memcached");
    await doesTheSame(readFileSync(file, "utf8"), made, story, { workloads: true });
  });

  test("with loops, references, kinds of others and expressions that stay CEL makes the same", async () => {
    const directory = await project("second-operator");
    const folder = join(work, "site");
    mkdirSync(folder);
    writeFileSync(join(folder, "crd.yaml"), widgetCrd);
    writeFileSync(join(folder, "site.yaml"), site);
    const [output, code] = await keelson("eject", "-f", folder, "--directory", directory);
    expect([output, code]).toEqual([
      expect.stringMatching(/(\d+) of (\d+) expressions are TypeScript, \d+ are still CEL/),
      0,
    ]);
    expect(output).toContain("It needs another package: npm install");
    passesItsChecks(directory);
    const made = await ejected(directory, "site", "Site");
    const yaml = `${widgetCrd}---\n${site}`;

    const Site = kindOf("Site", "sites");
    const patch = (spec: JsonObject) => (c: Cluster) =>
      c.client.kind(Site).patch(at("one"), { type: "merge", body: { spec } as never });
    const spec = { title: "abc", tags: ["a", "b"], pages: [{ path: "/" }], free: { any: ["thing"] } };
    const story: Story = {
      kind: Site,
      children: [ConfigMap, Widget, ClusterRole],
      prepare: async (c) => {
        await c.client.kind(ConfigMap).create({ metadata: { ...at("x"), labels: { site: "shared" } } });
      },
      changes: [
        (c) => c.client.kind(Site).create({ metadata: at("one"), spec } as never),
        (c) => c.client.kind(Secret).create({ metadata: at("login"), stringData: { user: "ada" } }),
        (c) =>
          c.client
            .kind(Widget)
            .subresource("status")
            .patch(at("one"), { type: "merge", body: { status: { url: "u" } } as never }),
        patch({ title: "abcd", tags: ["b", "c"], cache: { enabled: true, name: "n" } }),
        patch({ size: 9 }),
        patch({ size: 3, extra: { a: "b" }, mode: "closed" }),
        patch({ cache: { enabled: false } }),
      ],
    };
    await doesTheSame(yaml, made, story);
    // The schema of its users is the same.
    await using c = await graphCluster(yaml, {});
    const live = await c.client.kind(CustomResourceDefinition).get({ name: "sites.kro.run" });
    const schemaOf = ({ spec: { versions } }: CustomResourceDefinitionObject) =>
      versions[0]?.schema.openAPIV3Schema.properties?.["spec"];
    expect(schemaOf(made.resource.crd())).toEqual(schemaOf(live as never));
  });
});

const nests = (url: string) => `${widgetCrd.replaceAll("widget", "nest").replaceAll("Widget", "Nest")}---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: { name: nests }
spec:
  generateSelector: true
  parentResource: { apiVersion: example.com/v1, resource: nests }
  childResources:
  - { apiVersion: v1, resource: configmaps, updateStrategy: { method: InPlace } }
  - { apiVersion: example.com/v1, resource: widgets }
  hooks: { sync: { webhook: { url: "${url}" } } }
`;

/** As a hook's program would have it. */
const sync = `({ parent, children }) => ({
    status: { url: String(Object.keys(children["ConfigMap.v1"]).length) },
    children: Array.from({ length: Number(parent.spec?.["size"] ?? 0) }, (_, index) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: \`egg-\${index}\` },
      data: { of: parent.metadata?.name ?? "" },
    })),
  })`;

describe("an ejected composite", { timeout: 120_000 }, () => {
  const Nest = kindOf("Nest", "nests", "example.com", "v1");
  const at1 = { metadata: at("one"), spec: { size: 2 } } as never;
  const resources = documents(`${nests("")}---\n${widgetCrd}`)
    .filter(({ kind }) => kind === "CustomResourceDefinition")
    .map((crd) => ({ crd: () => crd as never }));
  const eggs = async (c: Cluster) => {
    const { items } = await c.client.kind(ConfigMap).list();
    const own = items.filter(({ data }) => data?.["of"] !== undefined);
    return own.map((each) => {
      const { ownerReferences: _, ...rest } = (comparable(each as Stored) as Stored).metadata;
      const { "controller-uid": __, ...labels } = rest.labels ?? {};
      return { ...rest, labels, data: each.data };
    });
  };

  test("asks its hook as before, and a function in place of it makes the same", async () => {
    const asked: string[] = [];
    const answer = new Function(`return ${sync.replace(/ as \w+/g, "")}`)() as (request: never) => object;
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += String(chunk)));
      request.on("end", () => {
        asked.push(request.url ?? "");
        response.end(JSON.stringify(answer(JSON.parse(body) as never)));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/sync`;
    const directory = await project("fourth-operator");
    const file = join(work, "nests.yaml");
    writeFileSync(file, `${nests(url)}---\n${widgetCrd}`);
    const [output, code] = await keelson("eject", "-f", file, "--directory", directory);
    expect([output, code]).toEqual([
      expect.stringContaining(
        "CompositeController nests: its sync hook is still asked where the definition says",
      ),
      0,
    ]);
    passesItsChecks(directory);
    const controllers = async (folder: string) => {
      const module = (await import(join(directory, `src/${folder}/controller.ts`))) as Record<
        string,
        Controller
      >;
      return Object.values(module);
    };
    await using before = await cluster({ controllers: await controllers("nest"), resources });
    await before.client.kind(Nest).create(at1);
    // The hook is outside of virtual time.
    await vi.waitFor(
      async () => {
        await before.advance(1_000);
        expect(await before.client.kind(Nest).get(at("one"))).toMatchObject({ status: { url: "2" } });
      },
      { timeout: 30_000 },
    );
    expect(asked).toContain("/sync");
    server.close();

    const hooks = join(directory, "src/nest/hooks.ts");
    const text = readFileSync(hooks, "utf8");
    writeFileSync(
      hooks,
      text.replace(/ {2}\/\/ sync: .*\n/, () => `  sync: ${sync},\n`),
    );
    run(directory, "biome", "check", "--write", "src");
    passesItsChecks(directory);
    // Another folder is another module.
    cpSync(join(directory, "src/nest"), join(directory, "src/nest2"), { recursive: true });
    await using after = await cluster({ controllers: await controllers("nest2"), resources });
    await after.client.kind(Nest).create(at1);
    await after.converges({ ready: false });
    expect(await eggs(after)).toEqual(await eggs(before));
    expect((await eggs(after)).length).toBe(2);
    expect(await after.client.kind(Nest).get(at("one"))).toMatchObject({ status: { url: "2" } });
    expect(after.forbidden).toEqual([]);
  });
});

test("nothing is written over, and what has no form is one sentence", { timeout: 60_000 }, async () => {
  const directory = await project("third-operator");
  const file = join(root, "examples/nocode/memcached.yaml");
  mkdirSync(join(directory, "src/memcached"));
  writeFileSync(join(directory, "src/memcached/controller.ts"), "// mine\n");
  const eject = (path: string) => keelson("eject", "-f", path, "--directory", directory);
  expect(await eject(file)).toEqual([
    `${join(directory, "src/memcached/controller.ts")} is there already, and nothing was written; move it away first\n`,
    1,
  ]);
  expect(existsSync(join(directory, "src/memcached/api.ts"))).toBe(false);
  const own = join(work, "own.yaml");
  const condition = "${runtime.newCondition({'type': 'A', 'status': 'True', 'reason': 'B', 'message': ''})}";
  writeFileSync(
    own,
    `${site.replace("    status:\n", `    status:\n      conditions: ["${condition}"]\n`)}---\n${widgetCrd}`,
  );
  expect(await eject(own)).toEqual([
    expect.stringMatching(/^ResourceGraphDefinition site writes conditions of its own .*\n$/),
    1,
  ]);
  const bad = join(work, "bad.yaml");
  writeFileSync(bad, site);
  expect(await eject(bad)).toEqual([
    expect.stringMatching(/bad\.yaml:\d+: the cluster has no kind Widget in example\.com\/v1/),
    1,
  ]);
});
