/** For the explorer: plans that deploy and upgrade pods behind a Service, with a call that may fail. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of plans stand in plain texts.
import type { JsonObject } from "@keelson/core";
import { ConfigMap, Pod, Service } from "@keelson/core/kinds";
import { resource } from "@keelson/schema";
import { ReadyProcesses, type Subject, type World } from "@keelson/testing";
import { z } from "zod";
import { type PlanStatus, type Plans, planController, planStatus, runAnnotation } from "../../src/index.ts";

const Shop = resource({
  group: "example.com",
  version: "v1",
  kind: "Shop",
  spec: z.object({ version: z.string().default("1"), text: z.string().default("a") }),
  status: z.object(planStatus),
});

const ref = { namespace: "default", name: "site" };
const pod = (name: string, version: string) => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name, labels: { app: "site" } } },
  spec: { containers: [{ name: "web", image: `web:${version}` }] },
});
const service = {
  ...{ apiVersion: "v1", kind: "Service", metadata: { name: "${name}" } },
  spec: { selector: { app: "site" }, ports: [{ port: 80 }] },
};
const settings = {
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "${name}-settings" } },
  data: { text: "${parameters.text}" },
};

/** Whether the migration works now, and which keys it was called with. */
const migration = { works: true, keys: new Set<string>() };

const plans: Plans = {
  deploy: {
    phases: [
      {
        name: "prepare",
        strategy: "parallel",
        steps: [
          { name: "settings", apply: [settings] },
          { name: "service", apply: [service] },
        ],
      },
      {
        name: "run",
        steps: [{ name: "server", timeout: "5m", apply: [pod("${name}-0", "${parameters.version}")] }],
      },
    ],
  },
  upgrade: {
    on: { parameters: ["version"] },
    onFailure: "rollback",
    phases: [
      {
        name: "migrate",
        steps: [
          {
            name: "schema",
            timeout: "1m",
            call: async ({ idempotencyKey }) => {
              migration.keys.add(idempotencyKey);
              if (!migration.works) throw new Error("spec of the migration is not there yet");
              return { result: "done" };
            },
          },
        ],
      },
      { name: "pause", steps: [{ name: "wait", wait: { duration: "10s" } }] },
      {
        name: "roll",
        steps: [{ name: "server", timeout: "5m", apply: [pod("${name}-0", "${parameters.version}")] }],
      },
    ],
  },
  rollback: {
    on: {},
    phases: [
      {
        name: "back",
        steps: [{ name: "server", timeout: "5m", apply: [pod("${name}-0", "${previous.version}")] }],
      },
    ],
  },
};

const statusOf = (world: World) => world.primary?.status as PlanStatus | undefined;

/** Plans: `npm run explore -- --operator plans`. */
export const subject: Subject = {
  name: "plans",
  kind: Shop,
  resource: "example.com/shops",
  ref,
  application: () => new ReadyProcesses(),
  controllers: () => [planController(Shop, { plans, kinds: [ConfigMap, Pod, Service], services: "dns" })],
  collected: ["example.com/shops"],
  beginnings: {
    deployed: async (world) => {
      migration.works = true;
      await world.client.kind(Shop).create(Shop.object({ metadata: ref, spec: {} }));
      await world.advance(60_000);
    },
  },
  edits: [
    {
      name: "edit: version",
      choose: (random) => ({ version: String(1 + Math.floor(random.next() * 3)) }),
      begin: async (world, { version }) => await change(world, { version: String(version) }),
    },
    {
      name: "edit: text",
      choose: (random) => ({ text: String(Math.floor(random.next() * 5)) }),
      begin: async (world, { text }) => await change(world, { text: String(text) }),
    },
    {
      name: "by hand: a plan is run",
      choose: (random) => ({
        plan: ["deploy", "upgrade"][Math.floor(random.next() * 2)] as string,
        id: String(random.next()),
      }),
      begin: async (world, { plan, id }) => await annotate(world, `${plan}/${id}`),
    },
    {
      name: "by hand: the run is cancelled",
      choose: () => ({}),
      begin: async (world) => {
        const run = statusOf(world)?.plan?.run;
        if (!world.primary || run === undefined) return;
        const body = { metadata: { annotations: { "plans.keelson.dev/cancel": run } } };
        await world.client.kind(Shop).patch(ref, { type: "merge", body });
      },
    },
  ],
  faults: [
    {
      name: "call: failing",
      lastsMs: 300_000,
      begin: () => {
        migration.works = false;
        return () => {
          migration.works = true;
        };
      },
    },
  ],
  makeFeasible: async () => {
    migration.works = true;
  },
  missing: (world) => {
    const { plan, applied } = statusOf(world) ?? {};
    if (plan?.state === "Running") return `${plan.run} runs at ${plan.step}`;
    const spec = JSON.stringify(world.primary?.spec);
    if (!world.isReady) return `the spec ${spec} is not brought: ${plan?.run} ${plan?.state}`;
    const made = applied?.parameters as JsonObject | undefined;
    return made?.["version"] === world.primary?.spec?.["version"] &&
      world.simulation.endpoints("default", "site").length === 1
      ? undefined
      : "the pod does not serve";
  },
  // What failed or was cancelled waits for a person.
  followAdvice: async (world) => {
    const { plan, tried } = statusOf(world) ?? {};
    if (!plan || plan.state === "Running" || !tried) return undefined;
    await annotate(world, `deploy/${world.atMs}`);
    return "runs deploy again";
  },
  client: {
    write: (world) => (world.simulation.endpoints("default", "site").length > 0 ? true : undefined),
    read: () => undefined,
  },
  oracles: [
    {
      name: "no plan is stuck",
      eventually: {
        // The longest plan may take 1 + 0.2 + 5 minutes; an API server that is away adds to it.
        withinMs: 20 * 60_000,
        check: (world) => {
          const { plan } = statusOf(world) ?? {};
          if (plan?.state !== "Running") return undefined;
          const before = world.notes.get("run");
          world.notes.set("run", plan.run);
          return before === plan.run
            ? `${plan.run} has been running at ${plan.step}: ${plan.message}`
            : undefined;
        },
      },
    },
    {
      name: "what a plan applied is there at rest",
      atRest: (world) => {
        const missing = (statusOf(world)?.objects ?? []).find(
          ({ slot, key }) =>
            !world.stored.get(
              { service: "services", pod: "pods", configmap: "configmaps" }[slot] ?? slot,
              key,
              "default",
            ),
        );
        return world.primary && missing ? `${missing.slot} ${missing.key} is gone` : undefined;
      },
    },
  ],
};

async function change(world: World, spec: JsonObject): Promise<void> {
  if (world.primary) await world.client.kind(Shop).patch(ref, { type: "merge", body: { spec } });
}

async function annotate(world: World, run: string): Promise<void> {
  if (!world.primary) return;
  const body = { metadata: { annotations: { [runAnnotation]: run } } };
  await world.client.kind(Shop).patch(ref, { type: "merge", body });
}
