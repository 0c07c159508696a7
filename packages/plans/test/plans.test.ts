/** Plans of a resource in TypeScript, on the embedded API server in virtual time. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of plans stand in plain texts.
import { formatTime, type JsonObject } from "@keelson/core";
import { ConfigMap, Deployment, Job } from "@keelson/core/kinds";
import { resource } from "@keelson/schema";
import { type Cluster, cluster, everyCrash } from "@keelson/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type CallAnswer,
  type CallAttempt,
  type Plan,
  type Plans,
  planColumns,
  planController,
  planStatus,
} from "../src/index.ts";

const here = { namespace: "default", name: "shop" };
const ref = (name: string) => ({ namespace: "default", name });

const Shop = resource({
  group: "example.com",
  version: "v1",
  kind: "Shop",
  spec: z.object({ version: z.string(), replicas: z.int().default(1), debug: z.boolean().default(false) }),
  status: z.object(planStatus),
  columns: planColumns,
});

const map = (name: string, data: JsonObject) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});
const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };

type Call = (attempt: CallAttempt) => Promise<CallAnswer | undefined>;

function plansOf(calls: { migrate?: Call; verify?: Call } = {}): Plans {
  const settings = map("${name}-settings", {
    version: "${parameters.version}",
    replicas: "${string(parameters.replicas)}",
  });
  const debug = map("${name}-debug", { run: "${run}" });
  return {
    deploy: {
      phases: [
        { name: "prepare", steps: [{ name: "init", job: { spec: { template } } }] },
        {
          name: "run",
          strategy: "parallel",
          steps: [
            { name: "settings", apply: [settings] },
            { name: "debug", toggle: { when: "parameters.debug", apply: [debug] } },
          ],
        },
      ],
    },
    upgrade: {
      on: { parameters: ["version"] },
      onFailure: "rollback",
      phases: [
        { name: "backup", steps: [{ name: "dump", job: { spec: { template } } }] },
        {
          name: "migrate",
          steps: [
            { name: "schema", timeout: "2m", call: calls.migrate ?? (async () => ({ result: "migrated" })) },
          ],
        },
        { name: "roll", steps: [{ name: "settings", apply: [settings] }] },
        {
          name: "verify",
          steps: [{ name: "ask", timeout: "1m", call: calls.verify ?? (async () => undefined) }],
        },
      ],
    },
    rollback: {
      on: {},
      phases: [
        {
          name: "back",
          steps: [{ name: "settings", apply: [map("${name}-settings", { version: "${previous.version}" })] }],
        },
      ],
    },
    backup: {
      on: { schedule: "0 * * * *" },
      phases: [{ name: "backup", steps: [{ name: "dump", job: { spec: { template } } }] }],
    },
  };
}

function controllersOf(plans: Plans) {
  return [planController(Shop, { plans, kinds: [ConfigMap, Deployment], services: "dns" })];
}

async function world(plans: Plans): Promise<Cluster> {
  return completing(await cluster({ controllers: controllersOf(plans) }));
}

/** Jobs are complete three seconds after they were made; a whole node would make hours long. */
function completing(c: Cluster): Cluster {
  const time = () => formatTime(c.clock.now());
  const condition = (type: string) => ({
    type,
    status: "True",
    lastTransitionTime: time(),
    lastProbeTime: time(),
  });
  c.stored.subscribe("batch/jobs", ({ type, object }) => {
    if (type !== "ADDED") return;
    const { namespace, name } = object.metadata;
    c.clock.timer(3_000, () => {
      const conditions = [condition("SuccessCriteriaMet"), condition("Complete")];
      const status = {
        conditions,
        startTime: time(),
        completionTime: time(),
        succeeded: 1,
        uncountedTerminatedPods: {},
      };
      const patch = { type: "merge" as const, body: { status } };
      void c.client
        .kind(Job)
        .subresource("status")
        .patch({ namespace, name }, patch)
        .catch(() => {});
    });
  });
  return c;
}

const create = async (c: Cluster, spec: JsonObject = {}) =>
  await c.client.kind(Shop).create(Shop.object({ metadata: here, spec: { version: "1", ...spec } }));
const change = async (c: Cluster, spec: JsonObject) =>
  await c.client.kind(Shop).patch(here, { type: "merge", body: { spec } });
const annotate = async (c: Cluster, annotations: JsonObject) =>
  await c.client.kind(Shop).patch(here, { type: "merge", body: { metadata: { annotations } } });
const statusOf = async (c: Cluster) => (await c.client.kind(Shop).get(here)).status;
const settingsOf = async (c: Cluster) => (await c.client.kind(ConfigMap).get(ref("shop-settings"))).data;
const isAt = (c: Cluster, run: string, state: string) =>
  c.until(async () => {
    const { plan } = (await statusOf(c)) ?? {};
    return plan?.run === run && plan.state === state;
  });

describe("a new object", () => {
  test("is brought by its deploy plan, shows its progress, and is kept as it was brought", async () => {
    await using c = await world(plansOf());
    await create(c);
    await isAt(c, "deploy-1", "Running");
    await c.until(async () => (await statusOf(c))?.plan?.step === "prepare/init");
    expect((await statusOf(c))?.plan).toMatchObject({ progress: "0/3", cause: "created" });
    expect(await c.client.kind(ConfigMap).find(ref("shop-settings"))).toBeUndefined();
    await isAt(c, "deploy-1", "Succeeded");
    await c.converges({ writesWhenIdle: 0 });
    const status = await statusOf(c);
    expect(status?.plan).toMatchObject({ progress: "3/3", name: "deploy" });
    expect(status?.plan?.steps.map(({ name, state }) => `${name} ${state}`)).toEqual([
      "prepare/init Succeeded",
      "run/settings Succeeded",
      "run/debug Succeeded",
    ]);
    expect(await settingsOf(c)).toEqual({ version: "1", replicas: "1" });
    expect(await c.client.kind(ConfigMap).find(ref("shop-debug"))).toBeUndefined();

    const drift = { type: "merge" as const, body: { data: { version: "9" } } };
    await c.client.kind(ConfigMap).patch(ref("shop-settings"), drift);
    await c.converges();
    expect(await settingsOf(c)).toEqual({ version: "1", replicas: "1" });
  });

  test("follows a parameter that no plan names by deploying again, and toggles", async () => {
    await using c = await world(plansOf());
    await create(c);
    await isAt(c, "deploy-1", "Succeeded");
    await change(c, { debug: true, replicas: 3 });
    await isAt(c, "deploy-2", "Succeeded");
    expect((await statusOf(c))?.plan?.cause).toBe("debug, replicas changed");
    expect((await c.client.kind(ConfigMap).get(ref("shop-debug"))).data).toEqual({ run: "deploy-2" });
    await change(c, { debug: false });
    await isAt(c, "deploy-3", "Succeeded");
    await c.converges();
    expect(await c.client.kind(ConfigMap).find(ref("shop-debug"))).toBeUndefined();
    const jobs = (await c.client.kind(Job).list()).items.map(({ metadata }) => metadata.name);
    expect(jobs).toEqual(["shop-deploy-3-init"]);
  });
});

describe("an upgrade", () => {
  test("runs step by step, and goes back when it cannot be verified", async () => {
    let works = false;
    const seen: string[] = [];
    const plans = plansOf({
      migrate: async ({ resumed }) => {
        seen.push(`migrate ${resumed}`);
        return seen.length < 3 ? { done: false, message: "half of it" } : { result: { rows: 7 } };
      },
      verify: async () => (works ? undefined : { failed: true, message: "it answers nonsense" }),
    });
    await using c = await world(plans);
    await create(c);
    await isAt(c, "deploy-1", "Succeeded");
    await change(c, { version: "2" });
    await c.until(async () => (await statusOf(c))?.plan?.message === "half of it");
    expect((await statusOf(c))?.plan).toMatchObject({
      run: "upgrade-2",
      step: "migrate/schema",
      progress: "1/4",
    });
    await isAt(c, "rollback-3", "Succeeded");
    expect(seen).toEqual(["migrate false", "migrate true", "migrate true"]);
    expect(await settingsOf(c)).toEqual({ version: "1" });
    await c.advance(30 * 60_000);
    const status = await statusOf(c);
    // Nothing tries by itself what failed, and the object says why it is not as its spec says.
    expect(status?.history?.slice(0, 2).map(({ run, state }) => `${run} ${state}`)).toEqual([
      "rollback-3 Succeeded",
      "upgrade-2 Failed",
    ]);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready).toMatchObject({ status: "False", reason: "PlanFailed" });
    expect(ready?.message).toMatch(
      /upgrade-2 failed: verify\/ask: it answers nonsense; rollback-3 succeeded/,
    );

    works = true;
    await annotate(c, { "plans.keelson.dev/run": "upgrade/again" });
    await isAt(c, "upgrade-4", "Succeeded");
    await c.converges();
    expect(await settingsOf(c)).toEqual({ version: "2", replicas: "1" });
  });

  test("that fails blocks nothing: another version starts the next", async () => {
    const plans = plansOf({ migrate: async () => Promise.reject(new Error("no route to the database")) });
    await using c = await world(plans);
    await create(c);
    await isAt(c, "deploy-1", "Succeeded");
    await change(c, { version: "2" });
    await c.until(async () => (await statusOf(c))?.plan?.message === "no route to the database");
    await isAt(c, "rollback-3", "Succeeded");
    expect((await statusOf(c))?.history?.[1]?.message).toMatch(
      /took longer than 2m: no route to the database/,
    );
    await change(c, { version: "1" });
    await c.converges();
    expect((await statusOf(c))?.plan?.run).toBe("rollback-3");
    await change(c, { version: "3" });
    await c.until(async () => (await statusOf(c))?.plan?.run === "upgrade-4");
    // While it runs, a change of mind takes its place.
    await change(c, { version: "4" });
    await c.until(async () => (await statusOf(c))?.plan?.run === "upgrade-5");
    expect((await statusOf(c))?.history?.[0]).toMatchObject({ run: "upgrade-4", state: "Superseded" });
    await annotate(c, { "plans.keelson.dev/cancel": "upgrade-5" });
    await c.converges({ ready: false });
    expect((await statusOf(c))?.plan).toMatchObject({ run: "upgrade-5", state: "Cancelled" });
  });

  test("is done once, whenever the manager dies", async () => {
    const done = new Map<string, number>();
    const { deploy, upgrade } = plansOf({
      migrate: async ({ idempotencyKey }) => {
        done.set(idempotencyKey, (done.get(idempotencyKey) ?? 0) + 1);
        return { result: "migrated" };
      },
    }) as { deploy: Plan; upgrade: Plan };
    const { onFailure: _, ...lean } = upgrade;
    const plans = {
      deploy: { ...deploy, phases: deploy.phases.slice(1) },
      upgrade: { ...lean, phases: upgrade.phases.slice(0, 3) },
    };
    const report = await everyCrash({ controllers: controllersOf(plans) }, async (c) => {
      completing(c);
      done.clear();
      await create(c);
      await isAt(c, "deploy-1", "Succeeded");
      await change(c, { version: "2" });
      await isAt(c, "upgrade-2", "Succeeded");
      await c.converges();
      expect(await settingsOf(c)).toEqual({ version: "2", replicas: "1" });
      // Begun again after a crash it has the same key: the one who is called can tell.
      expect(done.size).toBe(1);
      expect((await c.client.kind(Job).list()).items.length).toBe(1);
    });
    expect(report.writes).toBeGreaterThan(15);
  }, 120_000);
});

describe("a plan", () => {
  test("runs by schedule, and its failure leaves the object ready", async () => {
    await using c = await world(plansOf());
    await create(c);
    await isAt(c, "deploy-1", "Succeeded");
    await c.until(async () => (await statusOf(c))?.plan?.run === "backup-2", 2 * 3_600_000);
    await isAt(c, "backup-2", "Succeeded");
    await c.until(async () => (await statusOf(c))?.plan?.run === "backup-3", 2 * 3_600_000);
    await c.until(async () => (await c.client.kind(Job).find(ref("shop-backup-3-dump"))) !== undefined);
    await c.client.kind(Job).delete(ref("shop-backup-3-dump"), { propagation: "Background" });
    await isAt(c, "backup-3", "Failed");
    const { conditions } = (await statusOf(c)) ?? {};
    expect(conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
    expect(conditions?.find(({ type }) => type === "PlanSucceeded")).toMatchObject({
      status: "False",
      reason: "Failed",
    });
  });

  test("that does not exist is refused by an event, and nothing else happens", async () => {
    await using c = await world(plansOf());
    await create(c);
    await isAt(c, "deploy-1", "Succeeded");
    await annotate(c, { "plans.keelson.dev/run": "restore" });
    await c.converges();
    expect((await statusOf(c))?.plan?.run).toBe("deploy-1");
    expect((await statusOf(c))?.requested).toBe("restore");
  });

  test("runs before the object goes, and lets it go when a person says so", async () => {
    let works = false;
    const up: Call = async () => (works ? {} : { failed: true, message: "not empty" });
    const cleanup: Plans = {
      ...plansOf(),
      cleanup: {
        on: { delete: true },
        phases: [{ name: "clean", steps: [{ name: "up", timeout: "1m", call: up }] }],
      },
    };
    const ways: JsonObject[] = [
      { "plans.keelson.dev/run": "cleanup/again" },
      { "plans.keelson.dev/cancel": "cleanup-2" },
    ];
    for (const annotations of ways) {
      await using c = await world(cleanup);
      const gone = async () => (await c.client.kind(Shop).find(here)) === undefined;
      works = false;
      await create(c);
      await isAt(c, "deploy-1", "Succeeded");
      await c.client.kind(Shop).delete(here);
      await isAt(c, "cleanup-2", "Failed");
      await c.advance(3_600_000);
      expect(await gone()).toBe(false);
      works = "plans.keelson.dev/run" in annotations;
      await annotate(c, annotations);
      await c.until(gone);
    }
  });

  test("that was changed is run again", async () => {
    const plans: { current: Plans } = { current: plansOf() };
    const controllers = [
      planController(Shop, { plans: () => plans.current, kinds: [ConfigMap], services: "dns" }),
    ];
    await using c = completing(await cluster({ controllers }));
    await create(c);
    await isAt(c, "deploy-1", "Succeeded");
    const apply = [map("${name}-other", { a: "1" })];
    plans.current = { deploy: { phases: [{ name: "run", steps: [{ name: "settings", apply }] }] } };
    await annotate(c, { touched: "yes" });
    await isAt(c, "deploy-2", "Succeeded");
    await c.converges();
    expect((await statusOf(c))?.plan?.cause).toBe("plan deploy changed");
    // What the plan does not apply any more is gone.
    expect(await c.client.kind(ConfigMap).find(ref("shop-settings"))).toBeUndefined();
    expect(await c.client.kind(ConfigMap).find(ref("shop-other"))).toBeDefined();
  });

  test("that cannot work is one sentence", () => {
    const refused = (plans: Plans) => {
      try {
        planController(Shop, { plans, kinds: [] });
        return "accepted";
      } catch (error) {
        return (error as Error).message;
      }
    };
    const one = (step: object): Plans => ({
      deploy: { phases: [{ name: "p", steps: [{ name: "s", ...step }] }] },
    });
    expect(refused({})).toBe("Shop has no plans");
    expect(refused(one({}))).toMatch(
      /step p\/s of plan deploy of Shop must do one of apply, .* it has none of them/,
    );
    expect(refused(one({ wait: {} }))).toMatch(/waits for nothing/);
    expect(refused(one({ wait: { duration: "soon" } }))).toMatch(/cannot read "soon" as a duration/);
    expect(refused(one({ apply: [map("${parameters.}", {})] }))).toMatch(/cannot read \$\{parameters\.\}/);
    expect(refused(one({ apply: [map("${parameters", {})] }))).toMatch(/has no end/);
    expect(refused({ a: { onFailure: "b", phases: [] } })).toMatch(/names b as onFailure, which is no plan/);
  });
});
