/** A random story of graphs: users edit, faults strike, and in the end everything is as it was asked for. */
import { ConfigMap, Secret, Service } from "@keelson/core/kinds";
import { graphs, ResourceGraphDefinition } from "@keelson/graphs";
import type { PolicyRule } from "@keelson/runtime";
import {
  type Cluster,
  cluster,
  conflict,
  SeededRandom,
  serverError,
  tooManyRequests,
} from "@keelson/testing";
import { definitions, kindOf, rulesFor } from "../graphs.ts";

/** `extra` makes one more resource; both are revisions of one definition. */
function definition(extra: boolean): string {
  const bonus = `
  - id: bonus
    template:
      apiVersion: v1
      kind: Service
      metadata: { name: "\${schema.metadata.name}-bonus" }
      spec:
        selector: { app: "\${base.data.value}" }
        ports: [{ port: 80 }]
`;
  return `
metadata: { name: stories }
spec:
  schema:
    apiVersion: v1alpha1
    kind: Story
    spec:
      value: string | default="a"
      items: '[]string | default=["x"]'
      secret: boolean | default=true
    status:
      items: \${entry.map(i, i.metadata.name)}
  resources:
  - id: base
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}-base" }
      data: { value: "\${schema.spec.value}" }
  - id: entry
    forEach: [{ name: "\${schema.spec.items}" }]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: "\${schema.metadata.name}-item-\${name}" }
      data: { base: "\${base.metadata.name}", value: "\${base.data.value}" }
  - id: secret
    includeWhen: ["\${schema.spec.secret}"]
    template:
      apiVersion: v1
      kind: Secret
      metadata: { name: "\${schema.metadata.name}-secret" }
      stringData: { items: "\${entry.map(i, i.metadata.name).join(',')}" }
${extra ? bonus : ""}`;
}

const Story = kindOf("Story", "stories");
const names = ["one", "two"];
let rules: Promise<PolicyRule[]> | undefined;

interface Wish {
  value: string;
  items: string[];
  secret: boolean;
}

/** Undefined when all went well, otherwise what did not. */
export async function story(seed: number, steps = 12): Promise<string | undefined> {
  rules ??= rulesFor(`${definition(true)}\n---\n${definition(false)}`);
  await using c = await cluster({ controllers: [graphs()], rules: await rules, seed, managers: 2 });
  const random = new SeededRandom(seed, "story");
  const wishes = new Map<string, Wish>();
  let extra = random.next() < 0.5;
  const spec = (with_: boolean) =>
    definitions(definition(with_))[0] as { metadata: { name: string }; spec: object };
  await c.client.kind(ResourceGraphDefinition).create(spec(extra) as never);
  const isActive = async () =>
    (await c.client.kind(ResourceGraphDefinition).get({ name: "stories" })).status?.state === "Active";
  await c.until(isActive);
  const choose = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
  const edit = async () => {
    const name = choose(names);
    const wish = {
      value: choose(["a", "b", "c"]),
      items: ["x", "y", "z"].filter(() => random.next() < 0.5),
      secret: random.next() < 0.5,
    };
    const ref = { namespace: "default", name };
    const live = await c.client.kind(Story).find(ref);
    if (live?.metadata.deletionTimestamp !== undefined) return;
    if (live) await c.client.kind(Story).patch(ref, { type: "merge", body: { spec: { ...wish } } });
    else await c.client.kind(Story).create({ metadata: ref, spec: { ...wish } });
    wishes.set(name, wish);
  };
  const actions: readonly (() => Promise<void> | void)[] = [
    edit,
    edit,
    edit,
    async () => {
      const name = choose(names);
      if (!wishes.delete(name)) return;
      await c.client.kind(Story).delete({ namespace: "default", name });
    },
    async () => {
      extra = !extra;
      const live = await c.client.kind(ResourceGraphDefinition).get({ name: "stories" });
      await c.client.kind(ResourceGraphDefinition).update({ ...live, spec: spec(extra).spec } as never);
    },
    () => c.crash(),
    () => c.crashAt(1 + Math.floor(random.next() * 6), choose(["before", "after"])),
    () => c.breakWatches(),
    () => c.loseHistory(),
    () =>
      c.faults.inject({
        fault: choose([conflict(), serverError(), tooManyRequests(1)]),
        times: 1 + Math.floor(random.next() * 4),
      }),
    async () => {
      const [victim] = (await c.client.kind(ConfigMap).list({ labels: "kro.run/owned=true" })).items;
      if (victim) await c.client.kind(ConfigMap).delete(victim.metadata);
    },
    async () => {
      const items = (await c.client.kind(ConfigMap).list({ labels: "kro.run/owned=true" })).items;
      const victim = choose(items);
      if (victim)
        await c.client
          .kind(ConfigMap)
          .patch(victim.metadata, { type: "merge", body: { data: { value: "drift" } } });
    },
    async () => {
      const outage = c.outage();
      await c.advance(random.next() * 20_000);
      outage.end();
    },
  ];
  for (let step = 0; step < steps; step++) {
    await choose(actions)();
    await c.advance(random.next() * 8_000);
  }
  c.faults.clear();
  try {
    await c.converges({ ready: false, withinMs: 7_200_000 });
  } catch (error) {
    return (error as Error).message;
  }
  return await problemOf(c, wishes, extra);
}

/** What is not as it was asked for: a stuck instance, an orphan, too many writes, something without permission. */
async function problemOf(
  c: Cluster,
  wishes: ReadonlyMap<string, Wish>,
  extra: boolean,
): Promise<string | undefined> {
  if (c.forbidden.length > 0) return c.forbidden[0];
  if (c.writes.length > 1_500) return `${c.writes.length} writes in one story`;
  const expected = new Set<string>();
  for (const [name, { value, items, secret }] of wishes) {
    const instance = await c.client.kind(Story).find({ namespace: "default", name });
    if (instance?.status?.state !== "ACTIVE") return `${name} is ${JSON.stringify(instance?.status)}`;
    const made = items.map((item) => `${name}-item-${item}`);
    if (JSON.stringify(instance.status["items"] ?? []) !== JSON.stringify(made)) {
      return `the status of ${name} tells of ${JSON.stringify(instance.status["items"])}, not of ${made.join()}`;
    }
    for (const each of [`${name}-base`, ...made]) {
      expected.add(`ConfigMap ${each}`);
      const data = (await c.client.kind(ConfigMap).find({ namespace: "default", name: each }))?.data;
      if (data?.["value"] !== value) return `ConfigMap ${each} holds ${JSON.stringify(data)}, not ${value}`;
    }
    if (secret) expected.add(`Secret ${name}-secret`);
    if (extra) expected.add(`Service ${name}-bonus`);
  }
  for (const kind of [ConfigMap, Secret, Service]) {
    for (const { metadata } of (await c.client.kind(kind).list({ labels: "kro.run/owned=true" })).items) {
      if (!expected.delete(`${kind.kind} ${metadata.name}`))
        return `${kind.kind} ${metadata.name} is left behind`;
    }
  }
  const [missing] = expected;
  return missing === undefined ? undefined : `${missing} is missing`;
}
