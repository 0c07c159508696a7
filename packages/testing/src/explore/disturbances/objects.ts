/** What people do by hand to objects that the operator made. */
import type { ApiObject } from "@keelson/apiserver";
import { dynamicKind, type JsonObject, parseApiVersion, type Random } from "@keelson/core";
import { unlessGone } from "../../simulation/host.ts";
import { type AnywhereDisturbance, anywhere } from "../disturbance.ts";
import { atFraction, pick, randomFraction } from "../plan.ts";
import type { Scene } from "../scene.ts";
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

function ownedOf(scene: Scene, resources: readonly string[]): Owned[] {
  return resources.flatMap((resource) => scene.owned(resource).map((object) => ({ resource, object })));
}

function verbs(scene: Scene, { resource, object }: Owned) {
  const { group, version } = parseApiVersion(String(object.apiVersion));
  const plural = resource.slice(resource.indexOf("/") + 1);
  return scene.client.kind(
    dynamicKind({ group, version, kind: String(object.kind), resource: plural, scope: "Namespaced" }),
  );
}

function choose(scene: Scene, resources: readonly string[], fraction: unknown): Owned | undefined {
  const found = atFraction(ownedOf(scene, resources), fraction);
  if (found) scene.note(`it is ${found.object.kind} ${found.object.metadata.name}`);
  return found;
}

async function patch(scene: Scene, owned: Owned, body: object): Promise<void> {
  const { name, namespace = "" } = owned.object.metadata;
  await unlessGone(verbs(scene, owned).patch({ namespace, name }, { type: "merge", body: body as never }));
}

/**
 * Hands an object over to the operator, as its status advises: someone wrote another owner on it. Only one that the
 * operator has made, whatever became of its labels; it must not ask for what is not its own.
 */
export async function handOver(world: World): Promise<string | undefined> {
  const { message = "" } = world.condition("Ready") ?? {};
  const advice = /cannot apply (\w+)\S* \S+\/(\S+): .* the annotation (\S+)=(\S+)/.exec(message);
  if (!advice) return undefined;
  const [, kind, name, annotation = "", owner = ""] = advice;
  const { namespace } = world.subject.ref;
  const found = touched
    .flatMap((resource) => world.stored.list(resource, namespace).map((object) => ({ resource, object })))
    .find(({ object }) => object.kind === kind && object.metadata.name === name);
  if (!found || !wasApplied(found.object)) return undefined;
  await patch(world, found, { metadata: { annotations: { [annotation]: owner } } });
  return `annotates ${kind} ${name} with ${annotation}=${owner}`;
}

function wasApplied({ metadata }: ApiObject): boolean {
  const managers = (metadata.managedFields ?? []) as readonly { manager?: string; operation?: string }[];
  return managers.some(
    ({ manager = "", operation }) => operation === "Apply" && manager.startsWith("keelson-"),
  );
}

const chooseOne = (random: Random) => ({ which: randomFraction(random) });

const deleted = anywhere({
  name: "by hand: a child is deleted",
  choose: chooseOne,
  begin: async (scene, { which }) => {
    const kinds = touched.filter((each) => each !== "persistentvolumeclaims" && each !== "pods");
    const found = choose(scene, kinds, which);
    if (!found) return;
    const { name, namespace = "" } = found.object.metadata;
    await unlessGone(verbs(scene, found).delete({ namespace, name }));
  },
});

const relabelled = anywhere({
  name: "by hand: a label is changed or removed",
  weight: 2,
  choose: (random) => ({
    ...chooseOne(random),
    label: randomFraction(random),
    value: pick([null, "other"], random),
  }),
  begin: async (scene, args) => {
    const found = choose(scene, touched, args.which);
    if (!found) return;
    const names = Object.keys(found.object.metadata.labels ?? {}).sort();
    const label = atFraction(names, args.label);
    if (label === undefined) return;
    scene.note(`label ${label} becomes ${args.value}`);
    await patch(scene, found, { metadata: { labels: { [label]: args.value ?? null } } });
  },
});

/** All pods at once: services lead nowhere. */
const allRelabelled = anywhere({
  name: "by hand: a label is removed from all pods",
  choose: (random) => ({
    label: randomFraction(random),
    resource: pick(["pods", "persistentvolumeclaims"], random),
  }),
  begin: async (scene, args) => {
    const all = ownedOf(scene, [String(args.resource)]);
    const label = atFraction(Object.keys(all[0]?.object.metadata.labels ?? {}).sort(), args.label);
    if (label === undefined) return;
    scene.note(`label ${label} is removed from all ${args.resource}`);
    for (const each of all) await patch(scene, each, { metadata: { labels: { [label]: null } } });
  },
});

const disowned = anywhere({
  name: "by hand: owner references are removed",
  choose: chooseOne,
  begin: async (scene, { which }) => {
    const found = choose(scene, touched, which);
    if (found) await patch(scene, found, { metadata: { ownerReferences: null } });
  },
});

const annotated = anywhere({
  name: "by hand: an annotation is removed",
  choose: (random) => ({ ...chooseOne(random), note: randomFraction(random) }),
  begin: async (scene, args) => {
    const found = choose(scene, touched, args.which);
    const note = atFraction(Object.keys(found?.object.metadata.annotations ?? {}).sort(), args.note);
    if (!found || note === undefined) return;
    scene.note(`annotation ${note} is removed`);
    await patch(scene, found, { metadata: { annotations: { [note]: null } } });
  },
});

/** Someone, or a restored etcd of the control plane, takes the status away. */
const statusWiped = anywhere({
  name: "by hand: the status is wiped",
  begin: async (scene) => {
    const { primary, subject } = scene;
    if (!primary?.status) return;
    const status: JsonObject = Object.fromEntries(Object.keys(primary.status).map((field) => [field, null]));
    await unlessGone(
      scene.client
        .kind(subject.kind)
        .subresource("status")
        .patch(subject.ref, { type: "merge", body: { status } as never }),
    );
  },
});

export const objectDisturbances: readonly AnywhereDisturbance[] = [
  deleted,
  relabelled,
  allRelabelled,
  disowned,
  annotated,
  statusWiped,
];
