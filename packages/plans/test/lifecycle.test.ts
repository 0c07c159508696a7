/** Plans that are disturbed: what runs for them, what they made, and whose it is. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of plans stand in plain texts.
import { dynamicKind, formatTime, type JsonObject } from "@keelson/core";
import { ConfigMap, CustomResourceDefinition, Deployment, Job, Secret } from "@keelson/core/kinds";
import type { HookTransport } from "@keelson/hooks";
import { roleFor } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { type Cluster, cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { PlanDefinition, type Plans, planController, planHost, planStatus } from "../src/index.ts";

const here = { namespace: "default", name: "shop" };
const ref = (name: string) => ({ namespace: "default", name });

const Shop = resource({
  group: "example.com",
  version: "v1",
  kind: "Shop",
  spec: z.object({ version: z.string().default("1") }),
  status: z.object(planStatus),
});

const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };
const job = { job: { spec: { template } } };
const object = (kind: string, name: string, data: JsonObject) => ({
  apiVersion: "v1",
  kind,
  metadata: { name },
  data,
});

async function world(plans: Plans): Promise<Cluster> {
  const kinds = [ConfigMap, Secret, Deployment];
  return collecting(
    await cluster({ controllers: [planController(Shop, { plans, kinds, services: "dns" })] }),
  );
}

/** Jobs that are deleted in the foreground go when their pods have gone: after two seconds. */
function collecting(c: Cluster): Cluster {
  c.stored.subscribe("batch/jobs", ({ type, object: { metadata } }) => {
    if (type !== "MODIFIED" || !metadata.finalizers?.includes("foregroundDeletion")) return;
    const body = { metadata: { finalizers: null } };
    c.clock.timer(2_000, () => {
      void c.client
        .kind(Job)
        .patch(ref(metadata.name), { type: "merge", body })
        .catch(() => {});
    });
  });
  return c;
}

const create = async (c: Cluster) =>
  await c.client.kind(Shop).create(Shop.object({ metadata: here, spec: {} }));
const change = async (c: Cluster, version: string) =>
  await c.client.kind(Shop).patch(here, { type: "merge", body: { spec: { version } } });
const runOf = async (c: Cluster) => (await c.client.kind(Shop).get(here)).status?.plan;
const isAt = (c: Cluster, run: string, state: string) =>
  c.until(async () => {
    const plan = await runOf(c);
    return plan?.run === run && plan.state === state;
  });
const jobs = async (c: Cluster) => (await c.client.kind(Job).list()).items;

/** Ends a Job, as its controller would. */
async function complete(c: Cluster, name: string): Promise<void> {
  const time = formatTime(c.clock.now());
  const condition = (type: string) => ({
    type,
    status: "True",
    lastTransitionTime: time,
    lastProbeTime: time,
  });
  const status = {
    conditions: [condition("SuccessCriteriaMet"), condition("Complete")],
    startTime: time,
    completionTime: time,
    succeeded: 1,
    uncountedTerminatedPods: {},
  };
  await c.client.kind(Job).subresource("status").patch(ref(name), { type: "merge", body: { status } });
}

test("steps of one name in two phases have a Job each", async () => {
  await using c = await world({
    deploy: {
      phases: [
        { name: "backup", steps: [{ name: "run", ...job }] },
        { name: "migrate", steps: [{ name: "run", ...job }] },
      ],
    },
  });
  await create(c);
  await c.until(async () => (await jobs(c)).length === 1);
  await complete(c, (await jobs(c))[0]?.metadata.name ?? "");
  await c.advance(10_000);
  expect((await runOf(c))?.state).toBe("Running");
  expect((await jobs(c)).length).toBe(2);
});

test("a Job that ran for an earlier life of the object is not taken for this one's", async () => {
  await using c = await world({ deploy: { phases: [{ name: "p", steps: [{ name: "init", ...job }] }] } });
  await create(c);
  await c.until(async () => (await jobs(c)).length === 1);
  const { uid, name } = (await jobs(c))[0]?.metadata ?? { name: "" };
  await complete(c, name);
  await isAt(c, "deploy-1", "Succeeded");
  await c.advance(5_000);
  // The status is lost: the plan runs again under the same name.
  await c.client
    .kind(Shop)
    .subresource("status")
    .patch(here, {
      type: "merge",
      body: { status: { plan: null, applied: null, runs: null, history: null, steps: null, objects: null } },
    } as never);
  await c.advance(30_000);
  expect((await runOf(c))?.run).toBe("deploy-1");
  const now = await jobs(c);
  expect(now.map(({ metadata }) => metadata.uid)).not.toContain(uid);
  expect((await runOf(c))?.state).toBe("Running");
  await complete(c, now[0]?.metadata.name ?? "");
  await isAt(c, "deploy-1", "Succeeded");
});

test("a run begins when no Job of an earlier one runs any more", async () => {
  await using c = await world({
    deploy: {
      phases: [{ name: "p", steps: [{ name: "set", apply: [object("ConfigMap", "${name}", {})] }] }],
    },
    upgrade: {
      on: { parameters: ["version"] },
      onFailure: "rollback",
      phases: [{ name: "p", steps: [{ name: "migrate", timeout: "1m", ...job }] }],
    },
    rollback: { on: {}, phases: [{ name: "p", steps: [{ name: "back", ...job }] }] },
  });
  await create(c);
  await isAt(c, "deploy-1", "Succeeded");
  let most = 0;
  c.stored.subscribe("batch/jobs", () => {
    void jobs(c).then((all) => {
      most = Math.max(most, all.filter(({ status }) => !status?.completionTime).length);
    });
  });
  await change(c, "2");
  await c.until(async () => (await jobs(c)).length === 1);
  // A change of mind takes its place, and then it takes too long: what runs is ended first each time.
  await change(c, "3");
  await c.until(async () => (await runOf(c))?.run === "upgrade-3" && (await jobs(c)).length === 1);
  await c.until(async () => (await runOf(c))?.run === "rollback-4");
  await c.until(async () => (await jobs(c)).some(({ metadata }) => metadata.name === "shop-rollback-4-back"));
  expect((await jobs(c)).map(({ metadata }) => metadata.name)).toEqual(["shop-rollback-4-back"]);
  expect(most).toBe(1);
  const body = { metadata: { annotations: { "plans.keelson.dev/cancel": "rollback-4" } } };
  await c.client.kind(Shop).patch(here, { type: "merge", body });
  await c.until(async () => (await jobs(c)).length === 0);
});

test("objects of one name and several kinds are each kept as they were brought", async () => {
  await using c = await world({
    deploy: {
      phases: [
        {
          name: "p",
          steps: [
            {
              name: "s",
              apply: [object("ConfigMap", "${name}", { a: "1" }), object("Secret", "${name}", {})],
            },
          ],
        },
      ],
    },
  });
  await create(c);
  await isAt(c, "deploy-1", "Succeeded");
  await c.client.kind(Secret).delete(here);
  await c.converges();
  expect(await c.client.kind(Secret).find(here)).toBeDefined();
});

test("a wait goes on while what it looks at has no status yet", async () => {
  await using c = await world({
    deploy: {
      phases: [
        { name: "p", steps: [{ name: "make", apply: [object("ConfigMap", "${name}", { a: "1" })] }] },
        {
          name: "q",
          steps: [
            {
              name: "seen",
              wait: {
                object: { apiVersion: "v1", kind: "ConfigMap", name: "${name}" },
                until: "object.metadata.annotations.seen == 'yes'",
              },
            },
          ],
        },
      ],
    },
  });
  await create(c);
  await c.advance(30_000);
  expect(await runOf(c)).toMatchObject({ state: "Running", step: "q/seen" });
  const body = { metadata: { annotations: { seen: "yes" } } };
  await c.client.kind(ConfigMap).patch(here, { type: "merge", body });
  await isAt(c, "deploy-1", "Succeeded");
});

test("a star that cancelled a run long ago does not skip the plan before the object goes", async () => {
  let asked = 0;
  const call = async () => {
    asked++;
    return { done: asked > 3 };
  };
  await using c = await world({
    deploy: { phases: [{ name: "p", steps: [{ name: "s", apply: [object("ConfigMap", "${name}", {})] }] }] },
    cleanup: { on: { delete: true }, phases: [{ name: "p", steps: [{ name: "dump", call }] }] },
  });
  await create(c);
  await isAt(c, "deploy-1", "Succeeded");
  const body = { metadata: { annotations: { "plans.keelson.dev/cancel": "*" } } };
  await c.client.kind(Shop).patch(here, { type: "merge", body });
  await c.client.kind(Shop).delete(here);
  await c.until(async () => (await c.client.kind(Shop).find(here)) === undefined);
  expect(asked).toBe(4);
});

const Wiki = dynamicKind({
  group: "example.com",
  version: "v1",
  kind: "Wiki",
  resource: "wikis",
  scope: "Namespaced",
});
const definition = (name: string, plans: object, kind = "Wiki") => ({
  apiVersion: "plans.keelson.dev/v1alpha1",
  kind: "PlanDefinition",
  metadata: { name },
  spec: {
    resource: { group: "example.com", version: "v1", kind },
    parameters: { text: { type: "string", default: "hello" } },
    plans,
  },
});
const deploy = {
  phases: [{ name: "p", steps: [{ name: "s", apply: [object("ConfigMap", "${name}", {})] }] }],
};

async function host(): Promise<Cluster> {
  const verbs = ["get", "list", "watch", "create", "patch", "update", "delete"] as const;
  return await cluster({
    controllers: [planHost({ services: "dns" })],
    rules: [
      { apiGroups: ["example.com"], resources: ["wikis", "wikis/status"], verbs: [...verbs] },
      { apiGroups: [""], resources: ["configmaps", "events"], verbs: [...verbs] },
      { apiGroups: ["batch"], resources: ["jobs"], verbs: [...verbs] },
    ],
  });
}
const readyOf = async (c: Cluster, name: string) =>
  (await c.client.kind(PlanDefinition).get({ name })).status?.conditions?.find(
    ({ type }) => type === "Ready",
  );

test("a kind of another's is left as it is, and two definitions cannot have one kind", async () => {
  await using c = await host();
  const theirs = resource({
    group: "example.com",
    version: "v1",
    kind: "Shop",
    spec: z.object({ version: z.string().default("1") }),
    status: z.object({}),
  });
  await c.client.kind(CustomResourceDefinition).create(theirs.crd() as never);
  await c.client.kind(PlanDefinition).create(definition("taken", { deploy }, "Shop") as never);
  await c.until(async () => (await readyOf(c, "taken"))?.status === "False");
  expect((await readyOf(c, "taken"))?.message).toContain("shops.example.com");
  const kept = await c.client.kind(CustomResourceDefinition).get({ name: "shops.example.com" });
  expect(kept.spec.versions[0]?.schema?.openAPIV3Schema?.properties?.["spec"]).toMatchObject({
    properties: { version: { default: "1" } },
  });
  await c.client.kind(PlanDefinition).create(definition("wiki", { deploy }) as never);
  await c.until(async () => (await readyOf(c, "wiki"))?.status === "True");
  await c.client.kind(PlanDefinition).create(definition("twin", { deploy }) as never);
  await c.until(async () => (await readyOf(c, "twin"))?.status === "False");
  expect((await readyOf(c, "twin"))?.message).toContain("PlanDefinition wiki");
  const renamed = { spec: { resource: { kind: "Page" } } };
  await expect(
    c.client.kind(PlanDefinition).patch({ name: "wiki" }, { type: "merge", body: renamed }),
  ).rejects.toThrow(/kind is immutable/);
});

test("a hook of a step is called with the token of its Secret", async () => {
  const sent: (string | undefined)[] = [];
  const hook = {
    url: "http://hook.example.com/",
    authorization: { type: "Bearer", secretRef: { ...ref("token"), key: "token" } },
  };
  const plans = { deploy: { phases: [{ name: "p", steps: [{ name: "call", hook }] }] } } as Plans;
  const transport: HookTransport = async ({ headers }) => {
    sent.push(headers["authorization"]);
    return { status: 200, headers: {}, body: "{}" };
  };
  const controllers = [planController(Shop, { plans, kinds: [], services: "dns", transport })];
  await using c = await cluster({ controllers });
  await c.client.kind(Secret).create({ metadata: ref("token"), stringData: { token: "abc" } });
  await create(c);
  await isAt(c, "deploy-1", "Succeeded");
  expect(sent).toEqual(["Bearer abc"]);
  expect(c.forbidden).toEqual([]);
  const secrets = roleFor(controllers).filter(({ resources }) => resources?.includes("secrets"));
  expect(secrets).toMatchObject([{ verbs: ["get"], resourceNames: ["token"] }]);
});

test("a definition that goes waits for objects whose last plan runs", async () => {
  await using c = await host();
  const cleanup = {
    on: { delete: true },
    phases: [{ name: "p", steps: [{ name: "wait", wait: { duration: "1m" } }] }],
  };
  await c.client.kind(PlanDefinition).create(definition("wiki", { deploy, cleanup }) as never);
  await c.until(async () => (await readyOf(c, "wiki"))?.status === "True");
  await c.client.kind(Wiki).create({ metadata: here });
  await c.until(async () => (await c.client.kind(ConfigMap).find(here)) !== undefined);
  await c.advance(5_000);
  await c.client.kind(Wiki).delete(here);
  await c.client.kind(PlanDefinition).delete({ name: "wiki" });
  await c.advance(10_000);
  expect(await c.client.kind(Wiki).find(here)).toBeDefined();
  c.crash();
  await c.until(async () => (await c.client.kind(Wiki).find(here)) === undefined);
  await c.until(async () => (await c.client.kind(PlanDefinition).find({ name: "wiki" })) === undefined);
});

test("an object goes though its definition has no plan for that any more", async () => {
  await using c = await host();
  const cleanup = {
    on: { delete: true },
    phases: [{ name: "p", steps: [{ name: "wait", wait: { duration: "1h" } }] }],
  };
  await c.client.kind(PlanDefinition).create(definition("wiki", { deploy, cleanup }) as never);
  await c.until(async () => (await readyOf(c, "wiki"))?.status === "True");
  await c.client.kind(Wiki).create({ metadata: here });
  await c.until(async () => (await c.client.kind(ConfigMap).find(here)) !== undefined);
  await c.client.kind(Wiki).delete(here);
  await c.advance(5_000);
  expect(await c.client.kind(Wiki).find(here)).toBeDefined();
  const without = { spec: { plans: { cleanup: null } } };
  await c.client.kind(PlanDefinition).patch({ name: "wiki" }, { type: "merge", body: without });
  await c.until(async () => (await c.client.kind(Wiki).find(here)) === undefined);
});
