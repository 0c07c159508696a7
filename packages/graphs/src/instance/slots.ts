/** Where an instance's controller keeps its children and what it reads: a slot for each kind, a key for each object. */
import { hash } from "node:crypto";
import {
  type AnyKind,
  formatLabelSelector,
  type JsonObject,
  labelSelectorFrom,
  type Stored,
} from "@keelson/core";
import { all, controllerLabel, many, type Owned, type Read, ref } from "@keelson/runtime";
import { DataPending, ExpressionFailed } from "../expressions/expression.ts";
import { type Graph, type GraphNode, isExternal, ownedKinds } from "../graph/graph.ts";
import { Evaluation } from "./evaluation.ts";
import { applySetId, controllerName, labelValue, partOfLabel } from "./marks.ts";

/** The slot of a kind; one that a definition names at two versions has two. */
export function slotOf(kind: AnyKind): string {
  return labelValue(
    [kind.kind.toLowerCase(), ...(kind.group === "" ? [] : [kind.group]), kind.version].join("."),
  );
}

/** Children bear no owner reference: the instance takes them away in the order of the graph. */
export function slotsFor(graph: Graph, retired: readonly AnyKind[]): Record<string, Owned> {
  const slots: Record<string, Owned> = {};
  for (const kind of [...ownedKinds(graph), ...retired]) {
    slots[slotOf(kind)] = many(kind, {
      outlives: true,
      // What belongs to no other set is taken over, as kro does; so is all that kro made for the same instance.
      adopts: (existing: Stored, instance: Stored) => {
        const { [partOfLabel]: set, [controllerLabel]: keeper } = existing.metadata.labels ?? {};
        if (set !== undefined) return set === applySetId(graph.kind, instance);
        // What another operator keeps without an owner reference is often data.
        return keeper === undefined || keeper === controllerName(graph);
      },
    });
  }
  return slots;
}

/** The key of a child: one object, one key, whatever its place in a collection. */
export function keyOfChild(node: GraphNode, object: JsonObject): string {
  const { namespace, name } = object.metadata as { namespace?: string; name: string };
  return labelValue(`${node.id}.${hash("sha256", `${namespace ?? ""}/${name}`).slice(0, 12)}`);
}

/** The read under which an external resource is found. */
export function readOf(node: GraphNode): string {
  return `external/${node.id}`;
}

/** What a graph reads beside its children. */
export function readsFor(graph: Graph): Record<string, Read<Stored>> {
  const reads: Record<string, Read<Stored>> = {};
  for (const node of graph.nodes) if (isExternal(node)) reads[readOf(node)] = readFor(graph, node);
  return reads;
}

/** A name that follows from the instance alone is looked up by itself; otherwise the whole kind is followed. */
function readFor(graph: Graph, node: GraphNode): Read<Stored> {
  if (node.type === "external" && node.dependencies.length === 0) {
    return ref(node.kind, (instance: Stored) => {
      try {
        const [object] = new Evaluation(graph, instance).desired(node);
        return object?.metadata as { namespace?: string; name: string };
      } catch (error) {
        if (error instanceof DataPending || error instanceof ExpressionFailed) return undefined;
        throw error;
      }
    }) as Read<Stored>;
  }
  const { selector } = node.template.metadata as { selector?: JsonObject };
  const isFixed = selector !== undefined && node.fields.every(({ at }) => at[1] !== "selector");
  if (!isFixed) return all(node.kind);
  return all(node.kind, { labels: formatLabelSelector(labelSelectorFrom(selector as never)) });
}
