/** For the explorer: a graph that keeps pods behind a Service, and whose definition changes while it runs. */
import { graphs, ResourceGraphDefinition } from "@keelson/graphs";
import { ReadyProcesses, type Subject, type World } from "@keelson/testing";
import { definitions, kindOf, rulesFor } from "../graphs.ts";

/** `extra` makes one more resource; both are revisions of one definition. */
function definition(extra: boolean): string {
  const bonus = `
  - id: bonus
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}-bonus" }
      data: { of: "\${base.data.text}" }
`;
  return `
metadata: { name: stories }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Story
    spec:
      text: string | default="a"
      size: integer | default=2 minimum=1 maximum=4
      secret: boolean | default=true
    status:
      pods: \${servers.map(each, each.metadata.name)}
  resources:
  - id: base
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}-base" }
      data: { text: "\${schema.spec.text}" }
  - id: servers
    forEach: [{ index: "\${lists.range(schema.spec.size)}" }]
    readyWhen: ["\${each.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')}"]
    template:
      apiVersion: v1
      kind: Pod
      metadata: { name: "\${base.metadata.name}-\${string(index)}", labels: { app: site } }
      spec: { containers: [{ name: web, image: web }] }
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: { name: "\${schema.metadata.name}" }
      spec: { selector: { app: site }, ports: [{ port: 80 }] }
  - id: login
    includeWhen: ["\${schema.spec.secret}"]
    template:
      apiVersion: v1
      kind: Secret
      metadata: { name: "\${schema.metadata.name}-login" }
      stringData: { token: "never-to-be-shown-\${string(size(servers))}" }
${extra ? bonus : ""}`;
}

const Story = kindOf("Story", "stories");
const ref = { namespace: "default", name: "site" };
const revision = (extra: boolean) =>
  definitions(definition(extra))[0] as { metadata: { name: string }; spec: object };

interface Spec {
  readonly text: string;
  readonly size: number;
  readonly secret: boolean;
}

async function change(world: World, spec: Partial<Spec>): Promise<void> {
  const { primary } = world;
  if (primary && primary.metadata.deletionTimestamp === undefined) {
    await world.client.kind(Story).patch(ref, { type: "merge", body: { spec } });
  }
}

async function redefine(world: World, extra: boolean): Promise<void> {
  const { metadata, spec } = revision(extra);
  await world.client
    .kind(ResourceGraphDefinition)
    .patch({ name: metadata.name }, { type: "merge", body: { spec } as never });
  world.notes.set("extra", extra);
}

/** What there should be, and what there is besides. */
function missing(world: World): string | undefined {
  const { primary, stored } = world;
  const { text, size, secret } = (primary?.spec ?? {}) as unknown as Spec;
  const serving = world.simulation.endpoints("default", "site").length;
  if (!world.isReady || serving !== size) return `${serving} of ${size} pods serve`;
  const expected = [
    "configmaps site-base",
    ...Array.from({ length: size }, (_, index) => `pods site-base-${index}`),
    "services site",
    ...(secret ? ["secrets site-login"] : []),
    ...(world.notes.get("extra") ? ["configmaps site-bonus"] : []),
  ];
  const made = ["configmaps", "pods", "services", "secrets"].flatMap((resource) =>
    world.owned(resource).map(({ metadata }) => `${resource} ${metadata.name}`),
  );
  const absent = expected.find((each) => !made.includes(each));
  if (absent !== undefined) return `${absent} is missing`;
  const left = made.find((each) => !expected.includes(each));
  if (left !== undefined) return `${left} is left behind`;
  const base = stored.get("configmaps", "site-base", "default") as { data?: { text?: string } } | undefined;
  return base?.data?.text === text ? undefined : `the text is ${base?.data?.text}, not ${text}`;
}

/** Graphs: `npm run explore -- --operator graphs`. */
export const subject: Subject = {
  name: "graphs",
  kind: Story,
  resource: "kro.run/stories",
  ref,
  conditions: ["Ready", "InstanceManaged", "GraphResolved", "ResourcesReady"],
  application: () => new ReadyProcesses(),
  controllers: () => [graphs()],
  rules: await rulesFor(`${definition(true)}\n---\n${definition(false)}`),
  collected: ["kro.run/stories"],
  beginnings: {
    "two pods": async (world) => {
      await world.client.kind(ResourceGraphDefinition).create(revision(false) as never);
      await world.advance(30_000);
      await world.client.kind(Story).create({ metadata: ref, spec: {} });
      await world.advance(60_000);
    },
  },
  edits: [
    {
      name: "edit: text",
      choose: (random) => ({ text: "abc"[Math.floor(random.next() * 3)] as string }),
      begin: async (world, { text }) => await change(world, { text: String(text) }),
    },
    {
      name: "edit: size",
      choose: (random) => ({ size: 1 + Math.floor(random.next() * 4) }),
      begin: async (world, { size }) => await change(world, { size: Number(size) }),
    },
    {
      name: "edit: secret",
      choose: (random) => ({ secret: random.next() < 0.5 }),
      begin: async (world, { secret }) => await change(world, { secret: secret === true }),
    },
    {
      name: "edit: the definition",
      choose: (random) => ({ extra: random.next() < 0.5 }),
      begin: async (world, { extra }) => await redefine(world, extra === true),
    },
    {
      name: "edit: the instance is deleted",
      begin: async (world) => {
        if (world.primary) await world.client.kind(Story).delete(ref);
      },
    },
  ],
  makeFeasible: async (world) => {
    while (world.primary?.metadata.deletionTimestamp !== undefined) await world.advance(1_000);
    if (!world.primary) await world.client.kind(Story).create({ metadata: ref, spec: {} });
  },
  missing,
  client: {
    write: (world) => (world.simulation.endpoints("default", "site").length > 0 ? true : undefined),
    read: () => undefined,
  },
  remedies: /each\.|base|servers|site/,
  oracles: [],
};
