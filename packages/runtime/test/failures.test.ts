/** What people and logs hear of a reconcile that fails. */
import { Event, Secret, Service } from "@keelson/core/kinds";
import { controller, done, fail, type Logger, silentLogger } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const ref = { namespace: "default", name: "a" };
const labels = { parent: "yes" };

const Thing = resource({
  group: "test.example.com",
  kind: "Thing",
  version: "v1",
  spec: z.object({ value: z.string().default("") }),
});

test("fail() is an event, once, and so is an error that stays", async () => {
  const thing = controller(Thing, {
    async reconcile({ spec: { value } }) {
      if (value === "throw") throw new Error("no route to host");
      return value === "bad" ? fail("Downgrade", "cannot go back") : done();
    },
  });
  await using c = await cluster({ controllers: [thing] });
  const events = async () =>
    (await c.client.kind(Event).list({ namespace: "default" })).items.map(
      ({ type, reason }) => `${type} ${reason}`,
    );
  await c.client.kind(Thing).create({ metadata: ref, spec: {} });
  await c.converges();
  expect(await events()).toEqual([]);
  const set = (value: string) =>
    c.client.kind(Thing).patch(ref, { type: "merge", body: { spec: { value } } });
  await set("bad");
  await c.advance(60_000);
  expect(await events()).toEqual(["Warning Downgrade"]);
  await set("throw");
  await c.advance(60_000);
  expect((await events()).sort()).toEqual(["Warning Downgrade", "Warning ReconcileError"]);
});

test("a child that could not be changed for want of an answer is told of in the words of that failure", async () => {
  const lines: string[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (_, fields) => void lines.push(String(fields?.["error"])),
    child: () => log,
  };
  const one = controller(Secret, {
    labels: "parent=yes",
    owns: { service: Service },
    async reconcile({ metadata }, ctx) {
      const port = Number(metadata.annotations?.["port"]);
      await ctx.own.service.apply({ spec: { ports: [{ port }] } });
      return done();
    },
  });
  await using c = await cluster({ controllers: [one], log });
  await c.client.kind(Secret).create({ metadata: { ...ref, labels, annotations: { port: "80" } } });
  await c.converges();
  c.faults.inject({
    on: ({ write, resource }) => write && resource === "services",
    fault: { type: "reset" },
    times: 5,
  });
  await c.client
    .kind(Secret)
    .patch(ref, { type: "merge", body: { metadata: { annotations: { port: "81" } } } });
  await c.converges();
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(line).not.toContain("TypeError");
  expect((await c.client.kind(Service).get(ref)).spec?.ports?.[0]?.port).toBe(81);
});
