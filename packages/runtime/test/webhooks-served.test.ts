/** Webhooks over TLS, at a URL of this machine: what a developer runs. On the embedded and on the real API server. */
import { createServer } from "node:net";
import { isNotFound } from "@keelson/client";
import { ConfigMap, CustomResourceDefinition, ValidatingWebhookConfiguration } from "@keelson/core/kinds";
import { controller, deny, done, install, operator, silentLogger, webhook } from "@keelson/runtime";
import { resource } from "@keelson/schema";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type ApiServerUnderTest, eventually, servers } from "./servers.ts";

const Schedule = resource({
  group: "served.example.com",
  kind: "Schedule",
  versions: {
    v1beta1: { spec: z.object({ at: z.string() }) },
    v1: { spec: z.object({ hour: z.string(), minute: z.string() }) },
  },
  storage: "v1",
  conversions: {
    v1beta1: {
      toStored: ({ spec }) => ({ spec: { hour: spec.at.slice(0, 2), minute: spec.at.slice(3) } }),
      fromStored: ({ spec }) => ({ spec: { at: `${spec.hour}:${spec.minute}` } }),
    },
  },
});
const old = Schedule.at("v1beta1");
const ref = { namespace: "default", name: "a" };

/** A port that nobody had a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe.each(servers.filter(({ missing }) => !missing))("on $name", ({ start }) => {
  let server: ApiServerUnderTest;
  beforeAll(async () => {
    server = await start();
    await install(server.client, [Schedule]);
  }, 120_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test("validate, mutate and convert are asked at a URL, and nothing is left behind", async () => {
    const { client } = server;
    const port = await freePort();
    const schedule = webhook(Schedule, {
      validate: ({ spec }, { user, dryRun, oldObject, warn }) => {
        if (Number(spec.hour) > 23) return deny("a day has 24 hours", { field: "spec.hour" });
        warn(
          `asked by ${user.name === "" ? "nobody" : "someone"}, dryRun=${dryRun}, old=${oldObject !== undefined}`,
        );
        return undefined;
      },
      mutate: (object) => {
        object.metadata.labels = { ...object.metadata.labels, touched: "yes" };
      },
    });
    const guarded = webhook(ConfigMap, {
      name: "guarded",
      operations: ["DELETE"],
      objects: { matchLabels: { guarded: "yes" } },
      validate: (config) => deny(`${config.metadata.name} stays`),
    });
    const running = await operator({
      ...{ name: "served", client, log: silentLogger, leaderElection: false, endpoints: false },
      controllers: [controller(Schedule, { reconcile: async () => done() })],
      webhooks: [schedule, guarded],
      webhookServer: { port, host: "127.0.0.1", url: `https://127.0.0.1:${port}` },
    }).start();
    await eventually(() => expect(running.ready()).toBeUndefined());

    const make = (name: string, at: string) =>
      client.kind(old).create({ metadata: { ...ref, name }, spec: { at } } as never);
    // A server hears of new configurations a little later than they are stored.
    const made = await eventually(async () => {
      const object = await make("a", "03:15");
      const labelled = (object as { metadata: { labels?: Record<string, string> } }).metadata.labels?.[
        "touched"
      ];
      if (labelled !== "yes") await client.kind(Schedule).delete(ref);
      expect(labelled).toBe("yes");
      return object;
    }, 30_000);
    expect(made).toMatchObject({ apiVersion: "served.example.com/v1beta1", spec: { at: "03:15" } });
    expect(await client.kind(Schedule).get(ref)).toMatchObject({ spec: { hour: "03", minute: "15" } });
    await expect(make("b", "25:00")).rejects.toMatchObject({ code: 422 });
    await expect(make("b", "25:00")).rejects.toThrow(
      'admission webhook "validate.schedule.served.keelson.dev" denied the request: spec.hour: a day has 24 hours',
    );
    await client.kind(ConfigMap).create({ metadata: { ...ref, labels: { guarded: "yes" } } });
    await expect(client.kind(ConfigMap).delete(ref)).rejects.toThrow("denied the request: a stays");

    await running.stop();
    await expect(client.kind(ValidatingWebhookConfiguration).get({ name: "served" })).rejects.toSatisfy(
      isNotFound,
    );
    const crd = await client.kind(CustomResourceDefinition).get({ name: "schedules.served.example.com" });
    expect(crd.spec.versions.filter(({ served }) => served).map(({ name }) => name)).toEqual(["v1"]);
    await eventually(() => client.kind(ConfigMap).delete(ref), 30_000);
  }, 120_000);
});
