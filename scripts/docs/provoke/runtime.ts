/** Provokes every error of @keelson/runtime, most of them in a reconcile on the embedded API server. */
import { ConfigMap, Lease, Secret } from "@keelson/core/kinds";
import {
  type Context,
  controller,
  directConnector,
  done,
  install,
  type Logger,
  operator,
  RuntimeError,
  type RuntimeErrorCode,
  silentLogger,
  webhook,
} from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { type Cluster, cluster, type ObservedRequest } from "@keelson/testing";
import { z } from "zod";
import type { Provocations } from "../provoked.ts";

const Memo = resource({ group: "docs.example.com", kind: "Memo", version: "v1", spec: z.object({}) });
const owns = { copy: ConfigMap };
const memo = { namespace: "default", name: "memo" };
const copy = { data: { k: "v" } };
type MemoContext = Context<typeof Memo, typeof owns>;
type Body = (ctx: MemoContext, c: Cluster) => Promise<unknown>;

/** What a reconcile throws, or what the runtime makes of it: the first error with this code that is logged. */
async function failing(
  code: RuntimeErrorCode,
  body: Body,
  prepare: (c: Cluster) => Promise<unknown> = async () => {},
  timeoutMs?: number,
): Promise<unknown> {
  const { log, logged } = capture(code);
  const reconciled = controller(Memo, {
    owns,
    reconcile: async (_, ctx) => (await body(ctx, c)) as never,
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  await using c = await cluster({ controllers: [reconciled], log });
  await prepare(c);
  await c.client.kind(Memo).create({ metadata: memo, spec: {} });
  await c.until(() => logged() !== undefined);
  return logged();
}

/** A log that keeps the first error of a code, wherever it stands among the causes. */
function capture(code: RuntimeErrorCode): { log: Logger; logged: () => RuntimeError | undefined } {
  let found: RuntimeError | undefined;
  const keep = (_: string, fields?: Readonly<Record<string, unknown>>) => {
    for (let error = fields?.["error"]; error instanceof Error; error = error.cause) {
      if (error instanceof RuntimeError && error.code === code) found ??= error;
    }
  };
  const log: Logger = { ...silentLogger, debug: keep, warn: keep, error: keep, child: () => log };
  return { log, logged: () => found };
}

/** The error of a call that is made inside a reconcile. */
async function inside(body: Body, prepare?: (c: Cluster) => Promise<unknown>): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  let settled = false;
  const reconciled = controller(Memo, {
    owns,
    reconcile: async (_, ctx) => {
      const outcome = await body(ctx, c).catch((error: unknown) => error);
      if (outcome instanceof Error) {
        settled = true;
        resolve(outcome);
      }
      return done();
    },
  });
  await using c = await cluster({ controllers: [reconciled] });
  await prepare?.(c);
  await c.client.kind(Memo).create({ metadata: memo, spec: {} });
  await c.until(() => settled);
  return await promise;
}

/** What a webhook that changes ConfigMaps logs when it cannot answer. */
async function asked(
  mutate: (config: object) => void | Promise<void>,
  code: RuntimeErrorCode,
): Promise<unknown> {
  const { log, logged } = capture(code);
  await using c = await cluster({ webhooks: [webhook(ConfigMap, { mutate })], log });
  await c.clock.run(
    c.client
      .kind(ConfigMap)
      .create({ metadata: memo })
      .catch(() => {}),
  );
  await c.until(() => logged() !== undefined);
  return logged();
}

export const runtime: Provocations<RuntimeErrorCode> = {
  OwnsItself: () => controller(Memo, { owns: { peer: Memo }, reconcile: async () => done() }),
  InvalidDeclaration: () => controller(Memo, { name: "no label!", reconcile: async () => done() }),
  NotDeclared: () => inside((ctx) => ctx.client.kind(Secret as never as typeof ConfigMap).get(memo)),
  NoOutcome: () => failing("NoOutcome", async () => undefined),
  ReconcileTimeout: () => failing("ReconcileTimeout", () => new Promise(() => {}), undefined, 1000),
  Ended: async () => {
    let late: unknown;
    const reconciled = controller(Memo, {
      owns,
      timeoutMs: 1000,
      reconcile: async (_, ctx) => {
        await new Promise((aborted) => ctx.signal.addEventListener("abort", aborted));
        late = await ctx.own.copy.apply(copy).catch((error: unknown) => error);
        return done();
      },
    });
    await using c = await cluster({ controllers: [reconciled] });
    await c.client.kind(Memo).create({ metadata: memo, spec: {} });
    await c.until(() => late !== undefined);
    return late;
  },
  OutcomeUnknown: () =>
    inside(async (ctx, c) => {
      const concerned = ({ resource, watch }: ObservedRequest) => resource === "configmaps" && !watch;
      c.faults.hold("configmaps");
      c.faults.inject({ on: (each) => concerned(each) && each.write, fault: { type: "lose-answer" } });
      // Reads would tell what became of the write.
      const on = (each: ObservedRequest) => concerned(each) && !each.write;
      c.faults.inject({ on, fault: { type: "reset" }, times: Number.POSITIVE_INFINITY });
      await ctx.own.copy.apply(copy).catch(() => {});
      return ctx.own.copy.get();
    }),
  NotOurs: () =>
    inside(
      (ctx) => ctx.own.copy.apply(copy),
      (c) => c.client.kind(ConfigMap).create({ metadata: memo }),
    ),
  StillThere: () =>
    inside(
      (ctx) => ctx.own.copy.apply(copy),
      async (c) => {
        const { apiVersion, kind } = Memo.object({ metadata: memo, spec: {} });
        const earlier = { apiVersion, kind, name: "memo", uid: "of-an-earlier-one", controller: true };
        await c.client.kind(ConfigMap).create({ metadata: { ...memo, ownerReferences: [earlier] } });
      },
    ),
  OwnerGone: () =>
    inside(async (ctx, c) => {
      await c.client.kind(Memo).delete(memo);
      return await ctx.own.copy.apply(copy);
    }),
  Replaced: () =>
    inside(async (ctx, c) => {
      const seen = await ctx.own.copy.apply(copy);
      c.faults.hold("configmaps");
      await c.client.kind(ConfigMap).delete(memo);
      const { labels, ownerReferences } = seen.metadata;
      await c.client.kind(ConfigMap).create({ metadata: { ...memo, labels, ownerReferences } });
      return await ctx.own.copy.apply({ data: { k: "w" } });
    }),
  InvalidChild: () => inside((ctx) => ctx.own.copy.apply({ metadata: { namespace: "elsewhere" }, ...copy })),
  InvalidStatus: () =>
    failing("InvalidStatus", async (ctx) => {
      ctx.setStatus({ note: 3 } as never);
      return done();
    }),
  InvalidObject: async () => {
    const { log, logged } = capture("InvalidObject");
    const later = resource({
      group: "docs.example.com",
      kind: "Memo",
      version: "v1",
      spec: z.object({ tags: z.array(z.string()) }),
    });
    const counting = controller(later, {
      compose: ({ spec }) => ({ children: {}, status: { count: spec.tags.length } as never }),
    });
    const served = { ...counting, kind: { ...later, crd: () => Memo.crd() } };
    await using c = await cluster({ controllers: [served], log });
    await c.client.kind(Memo).create({ metadata: memo, spec: {} });
    await c.until(() => logged() !== undefined);
    return logged();
  },
  WebhookTimeout: () => asked(() => new Promise(() => {}), "WebhookTimeout"),
  BadAnswer: () => asked((config) => void Object.assign(config, { data: new Map() }), "BadAnswer"),
  StepTooLarge: () => inside((ctx) => ctx.step("report", async () => "x".repeat(1_000_000))),
  Unreachable: async () => {
    await using c = await cluster();
    return await directConnector(c.client)({ pod: memo }, 80, {
      namespace: undefined,
      signal: new AbortController().signal,
    });
  },
  CrdRefused: async () => {
    await using c = await cluster();
    const spec = z.object({ size: z.int().default(1) });
    const widget = resource({ group: "apps.k8s.io", kind: "Widget", version: "v1", spec });
    return await install(c.client, [widget]);
  },
  KindMissing: async () => {
    await using c = await cluster();
    const controllers = [controller(Memo, { reconcile: async () => done() })];
    return await operator({ controllers, client: c.client, log: silentLogger }).start();
  },
  NotStarted: async () =>
    await failing("NotStarted", async ({ controllers }) => {
      // The role of this operator does not hold what the other controller needs.
      await controllers.start(controller(Secret, { reconcile: async () => done() }));
      return done();
    }),
  LeaseLost: async () => {
    const controllers = [controller(Memo, { reconcile: async () => done() })];
    await using c = await cluster({ controllers, leaderElection: true });
    const [manager] = c.managers;
    const leases = async () => (await c.client.kind(Lease).list()).items;
    await c.until(async () => (await leases()).length > 0);
    const body = { spec: { holderIdentity: "another" } };
    for (const { metadata } of await leases())
      await c.client.kind(Lease).patch(metadata, { type: "merge", body });
    await c.until(() => manager?.failure !== undefined);
    return manager?.failure;
  },
  Stopped: async () => {
    let reason: unknown;
    const reconciled = controller(Memo, {
      reconcile: async (_, ctx) => {
        ctx.signal.addEventListener("abort", () => {
          reason = ctx.signal.reason;
        });
        await new Promise(() => {});
        return done();
      },
    });
    await using c = await cluster({ controllers: [reconciled] });
    await c.client.kind(Memo).create({ metadata: memo, spec: {} });
    await c.settle();
    await c.clock.run(c.managers[0]?.stop() ?? Promise.resolve());
    return reason;
  },
};
