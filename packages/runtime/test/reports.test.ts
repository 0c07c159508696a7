/** What tools hear of reconciles, while nobody else notices. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ConfigMap, Secret } from "@keelson/core/kinds";
import { controller, done, fail, ref, waiting } from "@keelson/runtime";
import { operatorChannel, type ReconcileReport, reconcileChannel } from "@keelson/runtime/internal";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const Thing = resource({
  group: "test.example.com",
  kind: "Thing",
  version: "v1",
  spec: z.object({ secret: z.string() }),
});
const here = { namespace: "default", name: "a" };

test("each reconcile is reported with its causes, its outcome and when it comes again", async () => {
  const reports: ReconcileReport[] = [];
  let synced = 0;
  const hear = (message: unknown) => void reports.push(message as ReconcileReport);
  const hearSynced = () => void synced++;
  subscribe(reconcileChannel, hear);
  subscribe(operatorChannel, hearSynced);
  const things = controller(Thing, {
    owns: { config: ConfigMap },
    reads: { secret: ref(Secret, ({ spec }) => ({ name: spec.secret })) },
    async reconcile(_, ctx) {
      const kind = ctx.read.secret?.data?.["kind"];
      if (kind === undefined) return waiting("SecretMissing", "there is none", { recheckMs: 60_000 });
      if (kind === btoa("bad")) return fail("SecretInvalid", "it is bad");
      if (kind === btoa("ugly")) throw new Error("oh");
      return done();
    },
  });
  try {
    await using c = await cluster({ controllers: [things] });
    const last = async (kind: string | undefined) => {
      if (kind !== undefined) {
        const secret = { metadata: { namespace: "default", name: "s" }, data: { kind: btoa(kind) } };
        await c.client.kind(Secret).apply(secret, { force: true });
      }
      await c.settle();
      return reports.at(-1);
    };
    expect(synced).toBe(1);
    await c.client.kind(Thing).create({ metadata: here, spec: { secret: "s" } });
    await c.settle();
    expect(reports[0]).toMatchObject({
      controller: "thing",
      key: "default/a",
      causes: [{ type: "created", kind: "Thing.test.example.com", key: "default/a" }],
      ...{ outcome: "waiting", reason: "SecretMissing", message: "there is none", nextMs: 60_000 },
    });
    expect(await last("bad")).toMatchObject({
      outcome: "failed",
      reason: "SecretInvalid",
      message: "it is bad",
    });
    expect(await last("ugly")).toMatchObject({ outcome: "error", message: "oh", nextMs: expect.any(Number) });
    expect(await last("good")).toMatchObject({ outcome: "done" });
    await c.client.kind(Thing).delete(here);
    expect(await last(undefined)).toMatchObject({ outcome: "gone", causes: [{ type: "deleted" }] });
  } finally {
    unsubscribe(reconcileChannel, hear);
    unsubscribe(operatorChannel, hearSynced);
  }
});
