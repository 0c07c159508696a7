/** What people do by hand to objects that the operator made. */
import type { ApiObject } from "@keelson/apiserver";
import { dynamicKind, type JsonObject, parseApiVersion, type Random } from "@keelson/core";
import { unlessGone } from "../../simulation/host.ts";
import type { Disturbance } from "../disturbance.ts";
import { atFraction, pick, randomFraction } from "../plan.ts";
import type { World } from "../world.ts";

/** Kinds that a hand may reach for. Claims are data: taking one away is a disturbance of its own. */
const touched = [
  "pods",
  "services",
  "secrets",
  "configmaps",
  "policy/poddisruptionbudgets",
  "persistentvolumeclaims",
  "apps/statefulsets",
];

interface Owned {
  readonly resource: string;
  readonly object: ApiObject;
}

function ownedOf(world: World, resources: readonly string[]): Owned[] {
  return resources.flatMap((resource) => world.owned(resource).map((object) => ({ resource, object })));
}

function verbs(world: World, { resource, object }: Owned) {
  const { group, version } = parseApiVersion(String(object.apiVersion));
  const plural = resource.slice(resource.indexOf("/") + 1);
  return world.client.kind(
    dynamicKind({ group, version, kind: String(object.kind), resource: plural, scope: "Namespaced" }),
  );
}

function choose(world: World, resources: readonly string[], fraction: unknown): Owned | undefined {
  const found = atFraction(ownedOf(world, resources), fraction);
  if (found) world.note(`it is ${found.object.kind} ${found.object.metadata.name}`);
  return found;
}

async function patch(world: World, owned: Owned, body: object): Promise<void> {
  const { name, namespace = "" } = owned.object.metadata;
  await unlessGone(verbs(world, owned).patch({ namespace, name }, { type: "merge", body: body as never }));
}

const chooseOne = (random: Random) => ({ which: randomFraction(random) });

const deleted: Disturbance = {
  name: "by hand: a child is deleted",
  choose: chooseOne,
  begin: async (world, { which }) => {
    const kinds = touched.filter((each) => each !== "persistentvolumeclaims" && each !== "pods");
    const found = choose(world, kinds, which);
    if (!found) return;
    const { name, namespace = "" } = found.object.metadata;
    await unlessGone(verbs(world, found).delete({ namespace, name }));
  },
};

const relabelled: Disturbance = {
  name: "by hand: a label is changed or removed",
  weight: 2,
  choose: (random) => ({
    ...chooseOne(random),
    label: randomFraction(random),
    value: pick([null, "other"], random),
  }),
  begin: async (world, args) => {
    const found = choose(world, touched, args.which);
    if (!found) return;
    const names = Object.keys(found.object.metadata.labels ?? {}).sort();
    const label = atFraction(names, args.label);
    if (label === undefined) return;
    world.note(`label ${label} becomes ${args.value}`);
    await patch(world, found, { metadata: { labels: { [label]: args.value ?? null } } });
  },
};

/** All pods at once: services lead nowhere. */
const allRelabelled: Disturbance = {
  name: "by hand: a label is removed from all pods",
  choose: (random) => ({
    label: randomFraction(random),
    resource: pick(["pods", "persistentvolumeclaims"], random),
  }),
  begin: async (world, args) => {
    const all = ownedOf(world, [String(args.resource)]);
    const label = atFraction(Object.keys(all[0]?.object.metadata.labels ?? {}).sort(), args.label);
    if (label === undefined) return;
    world.note(`label ${label} is removed from all ${args.resource}`);
    for (const each of all) await patch(world, each, { metadata: { labels: { [label]: null } } });
  },
};

const disowned: Disturbance = {
  name: "by hand: owner references are removed",
  choose: chooseOne,
  begin: async (world, { which }) => {
    const found = choose(world, touched, which);
    if (found) await patch(world, found, { metadata: { ownerReferences: null } });
  },
};

const annotated: Disturbance = {
  name: "by hand: an annotation is removed",
  choose: (random) => ({ ...chooseOne(random), note: randomFraction(random) }),
  begin: async (world, args) => {
    const found = choose(world, touched, args.which);
    const note = atFraction(Object.keys(found?.object.metadata.annotations ?? {}).sort(), args.note);
    if (!found || note === undefined) return;
    world.note(`annotation ${note} is removed`);
    await patch(world, found, { metadata: { annotations: { [note]: null } } });
  },
};

/** Someone, or a restored etcd of the control plane, takes the status away. */
const statusWiped: Disturbance = {
  name: "by hand: the status is wiped",
  begin: async (world) => {
    const { primary, subject } = world;
    if (!primary?.status) return;
    const status: JsonObject = Object.fromEntries(Object.keys(primary.status).map((field) => [field, null]));
    await unlessGone(
      world.client
        .kind(subject.kind)
        .subresource("status")
        .patch(subject.ref, { type: "merge", body: { status } as never }),
    );
  },
};

export const objectDisturbances: readonly Disturbance[] = [
  deleted,
  relabelled,
  allRelabelled,
  disowned,
  annotated,
  statusWiped,
];
