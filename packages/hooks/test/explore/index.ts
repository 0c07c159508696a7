/** For the explorer: a CompositeController whose hook keeps pods behind a Service. The hook is a function. */
import { type AnyKind, type Condition, type JsonObject, parseJson, type Stored } from "@keelson/core";
import { Pod, Service } from "@keelson/core/kinds";
import { resource } from "@keelson/schema";
import { ReadyProcesses, type Subject, type World } from "@keelson/testing";
import { z } from "zod";
import { hookControllers } from "../../src/index.ts";

const Web = resource({
  group: "example.com",
  version: "v1",
  kind: "Web",
  spec: z.object({
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    size: z.int().min(1).default(2),
    image: z.string().default("web:1"),
  }),
  status: z.object({ ready: z.int().optional() }),
});

const ref = { namespace: "default", name: "site" };
/** By the second one disturbances find what the hook made. */
const labels = { app: "site", "keelson.dev/controller": "composite-web" };
const since = "2026-01-01T00:00:00Z";

type PodObject = Stored & { status?: { conditions?: Condition[] } };

/** Pure: what is observed goes in, what should be comes out. */
function hook(request: JsonObject): JsonObject {
  const { parent, children, finalizing } = request as unknown as {
    parent: Stored & { spec: { size: number; image: string } };
    children: { "Pod.v1": Record<string, PodObject> };
    finalizing: boolean;
  };
  const { size, image } = parent.spec;
  const pods = Object.values(children["Pod.v1"]);
  if (finalizing) return { children: [], finalized: pods.length === 0, status: {} };
  const isReady = ({ metadata, status }: PodObject) =>
    metadata.deletionTimestamp === undefined &&
    (status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false);
  const ready = pods.filter(isReady).length;
  const is = ready === size && pods.length === size;
  const message = is ? "all pods serve" : `${ready} of site-0 to site-${size - 1} are ready`;
  const condition = (type: string, on: boolean) => ({
    ...{ type, status: on ? "True" : "False", reason: is ? "Ready" : "Starting" },
    ...{ message, lastTransitionTime: since, observedGeneration: parent.metadata.generation ?? 0 },
  });
  return {
    status: {
      ready,
      conditions: [condition("Ready", is), condition("Reconciling", !is), condition("Stalled", false)],
    },
    children: [
      {
        ...{ apiVersion: "v1", kind: "Service", metadata: { name: "site", labels } },
        spec: { selector: { app: "site" }, ports: [{ port: 80 }] },
      },
      ...Array.from({ length: size }, (_, index) => ({
        ...{ apiVersion: "v1", kind: "Pod", metadata: { name: `site-${index}`, labels } },
        spec: { containers: [{ name: "web", image }] },
      })),
    ],
  };
}

const webhook = { url: "http://hooks.example/sync" };
const definition = {
  ...{ apiVersion: "metacontroller.k8s.io/v1alpha1", kind: "CompositeController", metadata: { name: "web" } },
  spec: {
    parentResource: { apiVersion: "example.com/v1", resource: "webs" },
    childResources: [
      { apiVersion: "v1", resource: "services", updateStrategy: { method: "InPlace" } },
      { apiVersion: "v1", resource: "pods", updateStrategy: { method: "Recreate" } },
    ],
    hooks: { sync: { webhook }, finalize: { webhook } },
  },
};

/** How the hook misbehaves now. */
const moods = { current: "well" as "well" | "failing" | "nonsense" | "hanging" };
const kinds: readonly AnyKind[] = [Web, Pod, Service];
const controllers = await hookControllers(
  [definition],
  { discover: async (_apiVersion, name) => kinds.find((kind) => kind.resource === name) as AnyKind },
  {
    services: "dns",
    transport: async ({ body, signal }) => {
      const answer = (status: number, text: string) => ({ status, headers: {}, body: text });
      switch (moods.current) {
        case "well":
          return answer(200, JSON.stringify(hook(parseJson(body) as JsonObject)));
        case "failing":
          return answer(500, "out of memory");
        case "nonsense":
          return answer(200, '{"children":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}]}');
        case "hanging":
          return await new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          });
      }
    },
  },
);

const sizeOf = (world: World) => (world.primary?.spec as { size?: number } | undefined)?.size;

/** Hooks: `npm run explore -- --operator hooks`. */
export const subject: Subject = {
  name: "hooks",
  kind: Web,
  resource: "example.com/webs",
  ref,
  application: () => new ReadyProcesses(),
  controllers: () => controllers,
  collected: ["example.com/webs"],
  beginnings: {
    "two pods": async (world) => {
      moods.current = "well";
      const selector = { matchLabels: { app: "site" } };
      await world.client.kind(Web).create(Web.object({ metadata: ref, spec: { selector, size: 2 } }));
      await world.advance(60_000);
    },
  },
  edits: [
    {
      name: "edit: size",
      choose: (random) => ({ size: 1 + Math.floor(random.next() * 4) }),
      begin: async (world, { size }) => {
        if (world.primary)
          await world.client.kind(Web).patch(ref, { type: "merge", body: { spec: { size: Number(size) } } });
      },
    },
    {
      name: "edit: image",
      choose: (random) => ({ image: `web:${1 + Math.floor(random.next() * 3)}` }),
      begin: async (world, { image }) => {
        if (world.primary)
          await world.client
            .kind(Web)
            .patch(ref, { type: "merge", body: { spec: { image: String(image) } } });
      },
    },
  ],
  faults: (["failing", "nonsense", "hanging"] as const).map((mood) => ({
    name: `hook: ${mood}`,
    lastsMs: 300_000,
    blinds: true,
    begin: () => {
      moods.current = mood;
      return () => {
        moods.current = "well";
      };
    },
  })),
  // A child that the selector does not find any more is let go, as Metacontroller does: its name stays taken.
  without: ["by hand: a label is changed or removed", "by hand: a label is removed from all pods"],
  makeFeasible: async () => {
    moods.current = "well";
  },
  missing: (world) => {
    const size = sizeOf(world);
    return world.isReady && world.simulation.endpoints("default", "site").length === size
      ? undefined
      : `not all of ${size} pods serve`;
  },
  client: {
    // A change of the image makes all pods again at once: nobody is promised to be served meanwhile.
    write: (world) => (world.simulation.endpoints("default", "site").length > 0 ? true : undefined),
    read: () => undefined,
  },
  remedies: /hook/,
  oracles: [],
};
