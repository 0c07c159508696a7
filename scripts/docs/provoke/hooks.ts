/** Provokes every error of @keelson/hooks. */
import { systemClock } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { type HookErrorCode, type HookTransport, hookControllers } from "@keelson/hooks";
import { HookClient } from "@keelson/hooks/internal";
import { resource } from "@keelson/schema";
import { cluster } from "@keelson/testing";
import { z } from "zod";
import type { Provocations } from "../provoked.ts";
import { reported } from "../provoked.ts";

const Thing = resource({
  ...{ group: "example.com", version: "v1", kind: "Thing" },
  spec: z.object({ selector: z.object({ matchLabels: z.record(z.string(), z.string()) }).optional() }),
  status: z.object({}),
});
const selector = { matchLabels: { app: "a" } };
const child = (name: string) => ({
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: selector.matchLabels } },
});

export const hooks: Provocations<HookErrorCode> = {
  InvalidDefinition: () => hookControllers([definition({ hooks: {} })], discovering),
  InvalidParent: () => synced({ children: [] }, {}),
  HookUnreachable: () =>
    called(async () => {
      throw new Error("connect ECONNREFUSED 127.0.0.1:80");
    }),
  HookTimeout: () => called(() => new Promise(() => {})),
  HookFailed: () => called(async () => ({ status: 500, headers: {}, body: "oops" })),
  HookBusy: () => called(async () => ({ status: 429, headers: {}, body: "" })),
  BadAnswer: () => called(async () => ({ status: 200, headers: {}, body: "<html>" })),
  InvalidChild: () => synced({ children: [{ ...child("a"), kind: "Secret" }] }, { selector }),
  NotOurs: () => synced({ children: [child("taken")] }, { selector }),
  ChildrenFailed: () => synced({ children: [child("taken"), child("taken-too")] }, { selector }),
};

const discovering = {
  discover: async (_apiVersion: string, name: string) => (name === "things" ? Thing : ConfigMap) as never,
};

function definition(spec: object) {
  return {
    ...{
      apiVersion: "metacontroller.k8s.io/v1alpha1",
      kind: "CompositeController",
      metadata: { name: "things" },
    },
    spec: {
      parentResource: { apiVersion: "example.com/v1", resource: "things" },
      childResources: [{ apiVersion: "v1", resource: "configmaps" }],
      hooks: { sync: { webhook: { url: "http://hooks.example/sync" } } },
      ...spec,
    },
  };
}

async function called(transport: HookTransport): Promise<unknown> {
  const webhook = { url: "http://hooks.example/sync", timeout: "1ms" };
  const client = new HookClient({ version: "v1", webhook }, "the sync hook", [], {
    transport,
    services: "dns",
  });
  const scope = { clock: systemClock, signal: new AbortController().signal, read: async () => undefined };
  return await client.call({}, "a", { ...scope, connect: async () => Promise.reject(new Error("no way")) });
}

/** What a parent is told of when its hook answers so. */
async function synced(answer: object, spec: object): Promise<unknown> {
  const transport: HookTransport = async () => ({ status: 200, headers: {}, body: JSON.stringify(answer) });
  const controllers = await hookControllers([definition({})], discovering, { transport, services: "dns" });
  const errors: (Error & { code?: string })[] = [];
  const log = { debug: () => {}, info: () => {}, error: () => {}, child: () => log } as never as {
    warn: (message: string, fields: { error: Error }) => void;
  };
  log.warn = (_message, { error }) => void errors.push(error);
  await using c = await cluster({ controllers, resources: [Thing], log: log as never });
  for (const name of ["taken", "taken-too"]) {
    await c.client.kind(ConfigMap).create({ metadata: { namespace: "default", name } });
  }
  const metadata = { namespace: "default", name: "one" };
  await c.client.kind(Thing).create(Thing.object({ metadata, spec }));
  await c.until(() => errors.length > 0);
  const [error] = errors;
  return reported(error?.code ?? "", error?.message);
}
