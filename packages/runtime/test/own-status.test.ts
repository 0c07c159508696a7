/** A controller that writes its status itself has no place for what the runtime keeps there. */
import { ConfigMap } from "@keelson/core/kinds";
import { controller, done } from "@keelson/runtime";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";

const ref = { namespace: "default", name: "a" };

test.each(["manual", "conditions"] as const)(
  "with status: %s a step is refused, and its work is not done",
  async (status) => {
    const happened: unknown[] = [];
    const copier = controller(ConfigMap, {
      labels: "copy=yes",
      status,
      reconcile: async (_object, ctx) => {
        const step = ctx.step("pay", async () => void happened.push("paid"));
        happened.push(await step.catch(({ code }: { code?: unknown }) => code));
        return done();
      },
    });
    await using c = await cluster({ controllers: [copier] });
    await c.client.kind(ConfigMap).create({ metadata: { ...ref, labels: { copy: "yes" } } });
    await c.settle();
    expect(happened).toEqual(["NotDeclared"]);
  },
);
