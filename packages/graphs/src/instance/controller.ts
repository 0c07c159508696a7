/** The controller of a graph's instances. */
import { type AnyKind, canonicalJson, type JsonObject, objectKey, type Stored } from "@keelson/core";
import {
  allow,
  allowSubresource,
  type Context,
  type Controller,
  controller,
  done,
  type ManyHandle,
  waiting,
} from "@keelson/runtime";
import { type Graph, ownedKinds } from "../graph/graph.ts";
import { mergePatch } from "../json-patch.ts";
import { deleteInherited, inheritedChildren, isInherited } from "./inherited.ts";
import {
  controllerName,
  definitionLabels,
  fieldManager,
  finalizer,
  isSuspended,
  versionLabel,
} from "./marks.ts";
import { type Child, childrenOf, pass } from "./run.ts";
import { readsFor, slotsFor } from "./slots.ts";
import { deletingStatus, statusAfter, suspendedStatus } from "./status.ts";

/** What an instance's controller is made for. */
export interface InstanceControllerOptions {
  readonly graph: Graph;
  readonly definition: { readonly name: string; readonly uid: string };
  /** Kinds of an earlier definition: children of theirs are still to be found, and go. */
  readonly retired?: readonly AnyKind[];
}

/** Nothing watches what does not bear our labels. */
const inheritedMs = 1_000;

/** Makes it. It does nothing until an operator runs it. */
export function instanceController({
  graph,
  definition,
  retired = [],
}: InstanceControllerOptions): Controller {
  const { kind } = graph;
  const statuses = new StatusWriter(kind);
  const kinds = [...ownedKinds(graph), ...retired];
  return controller(kind, {
    name: controllerName(graph),
    owns: slotsFor(graph, retired),
    reads: readsFor(graph) as never,
    writes: [allow(kind, ["patch"]), allowSubresource(kind, "status", ["patch"])],
    status: "manual",
    fieldManager,
    finalizer,
    reconcile: async (object, ctx) => {
      const instance = object as Stored;
      const context = ctx as unknown as Context;
      const { [versionLabel]: version, ...labels } = definitionLabels(definition);
      await mark(kind, instance, labels, context);
      if (isSuspended(instance)) {
        await statuses.write(instance, suspendedStatus(graph, instance, ctx.clock.now()), context);
        return done();
      }
      const result = await pass(graph, instance, context);
      await statuses.write(instance, statusAfter(graph, instance, result, ctx.clock.now()), context);
      if (result.error) throw result.error;
      const isThrough = [...result.states.values()].every(
        ({ state }) => state === "synced" || state === "skipped",
      );
      if (!isThrough) return done();
      if (isInherited(instance)) {
        const left = await inheritedChildren(kind, kinds, instance, context);
        if (left.length > 0) {
          await deleteInherited(left, context);
          return waiting("Inherited", "resources of an earlier definition go", { recheckMs: inheritedMs });
        }
      }
      await mark(kind, instance, { [versionLabel]: version as string }, context);
      return done();
    },
    finalize: async (object, ctx) => {
      const instance = object as Stored;
      const context = ctx as unknown as Context;
      if (context.orphaned) return done();
      const inherited = isInherited(instance) ? await inheritedChildren(kind, kinds, instance, context) : [];
      if (inherited.length > 0) {
        const message = `${await deleteInherited(inherited, context)} resources that kro made are left`;
        await statuses.write(instance, deletingStatus(graph, instance, message, ctx.clock.now()), context);
        return waiting("Deleting", message, { recheckMs: inheritedMs });
      }
      const left = await deleteWaves(context);
      const [waitsFor] = left;
      if (!waitsFor) {
        statuses.forget(instance);
        return done();
      }
      const count = `${left.length} ${left.length === 1 ? "resource is" : "resources are"} left`;
      const message = `${count}, and ${waitsFor.object.metadata.name} has to go first`;
      await statuses.write(instance, deletingStatus(graph, instance, message, ctx.clock.now()), context);
      return waiting("Deleting", message);
    },
  });
}

/**
 * Puts the labels of its definition on an instance. Not by apply: an instance may be a child of another graph, and what
 * that one applies is signed with the same name.
 */
async function mark(
  kind: AnyKind,
  { metadata }: Stored,
  labels: Readonly<Record<string, string>>,
  ctx: Pick<Context, "client">,
): Promise<void> {
  if (Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value)) return;
  const { namespace, name, uid } = metadata;
  await verbsOf(ctx.client.kind(kind as never)).patch(
    { namespace, name },
    { type: "merge", body: { metadata: { uid, labels } } },
  );
}

/** As the granted client is used here: the types of kinds that come at run time say nothing. */
interface Verbs {
  patch(ref: object, patch: object): Promise<Stored>;
}

function verbsOf(verbs: unknown): Verbs {
  return verbs as Verbs;
}

/** Deletes wave by wave, and gives the children that are left. A wave waits until those before it have gone. */
async function deleteWaves({ own }: Pick<Context, "own">): Promise<Child[]> {
  for (;;) {
    const children = childrenOf(own);
    if (children.length === 0) return [];
    const highest = Math.max(...children.map(({ wave }) => wave));
    for (const { slot, key, object, wave } of children) {
      if (wave !== highest || object.metadata.deletionTimestamp !== undefined) continue;
      await (own[slot] as unknown as ManyHandle<AnyKind>).delete(key);
    }
    const left = childrenOf(own);
    if (left.some(({ wave }) => wave === highest)) return left.sort((a, b) => b.wave - a.wave);
  }
}

/** Writes a status that differs from what is there, and nothing else. */
class StatusWriter {
  readonly #kind: AnyKind;
  /** What was last sent for an object, and what the server kept of it: it drops what its schema does not know. */
  readonly #sent = new Map<
    string,
    { readonly uid: string; readonly wanted: string; readonly served: string }
  >();

  constructor(kind: AnyKind) {
    this.#kind = kind;
  }

  forget(instance: Stored): void {
    this.#sent.delete(objectKey(instance));
  }

  async write(instance: Stored, wanted: JsonObject, ctx: Pick<Context, "client">): Promise<void> {
    const { uid, namespace, name } = instance.metadata;
    const current = statusOf(instance);
    const patch = mergePatch(current, wanted);
    if (!patch) return;
    const key = objectKey(instance);
    const before = this.#sent.get(key);
    const text = canonicalJson(wanted);
    if (before?.uid === uid && before.wanted === text && before.served === canonicalJson(current)) return;
    const verbs = verbsOf(ctx.client.subresource(this.#kind as never, "status" as never));
    const body = { metadata: { uid }, status: patch };
    const served = await verbs.patch({ namespace, name }, { type: "merge", body });
    this.#sent.set(key, { uid, wanted: text, served: canonicalJson(statusOf(served)) });
  }
}

function statusOf(instance: Stored): JsonObject {
  return (instance as { status?: JsonObject }).status ?? {};
}
