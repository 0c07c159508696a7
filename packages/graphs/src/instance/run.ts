/** One pass over an instance: resource by resource, in the order of the graph. */
import { isConflict } from "@keelson/client";
import { type JsonObject, labelSelectorFrom, matchesLabels, type Stored } from "@keelson/core";
import { asError, errorText } from "@keelson/core/internal";
import { type Context, type ManyHandle, RuntimeError } from "@keelson/runtime";
import { DataPending } from "../expressions/expression.ts";
import { type Graph, type GraphNode, isExternal } from "../graph/graph.ts";
import { Evaluation } from "./evaluation.ts";
import { childLabels, waveAnnotation, waveOf } from "./marks.ts";
import { keyOfChild, readOf, slotOf } from "./slots.ts";

/** How a resource stands. `waiting` and `error` come with a sentence. */
export interface NodeState {
  readonly state: "synced" | "skipped" | "pending" | "waiting" | "deleting" | "error";
  readonly message?: string;
}

/** What a pass found. */
export interface PassResult {
  readonly evaluation: Evaluation;
  readonly states: ReadonlyMap<string, NodeState>;
  /** The first that was met: the pass comes again. */
  readonly error: Error | undefined;
}

type AnyContext = Pick<Context, "own" | "read" | "signal">;

/** Makes what can be made, takes away what is not wanted any more, and says how each resource stands. */
export async function pass(graph: Graph, instance: Stored, ctx: AnyContext): Promise<PassResult> {
  return await new Pass(graph, instance, ctx).run();
}

class Pass {
  readonly #graph: Graph;
  readonly #instance: Stored;
  readonly #ctx: AnyContext;
  readonly #evaluation: Evaluation;
  readonly #states = new Map<string, NodeState>();
  /** `slot|key` of all that should be there. */
  readonly #wanted = new Set<string>();
  /** Objects by their place in the cluster: two resources cannot be one object. */
  readonly #places = new Map<string, string>();
  #error: Error | undefined;

  constructor(graph: Graph, instance: Stored, ctx: AnyContext) {
    this.#graph = graph;
    this.#instance = instance;
    this.#ctx = ctx;
    this.#evaluation = new Evaluation(graph, instance);
  }

  async run(): Promise<PassResult> {
    for (const node of this.#graph.nodes) {
      const state = await this.#node(node);
      this.#states.set(node.id, state);
      // What comes behind may need it as it will be: nothing is decided on one that goes.
      if (state.state === "deleting") break;
    }
    const isSettled = [...this.#states.values()].every(
      ({ state }) => state !== "pending" && state !== "error",
    );
    const isWhole = this.#states.size === this.#graph.nodes.length;
    if (isSettled && isWhole && ![...this.#states.values()].some(({ state }) => state === "deleting")) {
      await this.#prune();
    }
    return { evaluation: this.#evaluation, states: this.#states, error: this.#error };
  }

  async #node(node: GraphNode): Promise<NodeState> {
    try {
      if (this.#evaluation.ignored(node)) return { state: "skipped" };
      const desired = this.#evaluation.desired(node);
      const objects = isExternal(node) ? this.#external(node, desired) : await this.#apply(node, desired);
      if (objects === undefined) return { state: "waiting", message: `${node.id} is not there yet` };
      const going = objects.find(({ metadata }) => metadata.deletionTimestamp !== undefined);
      if (going && !isExternal(node)) {
        return {
          state: "deleting",
          message: `${node.kind.kind} ${going.metadata.name} of ${node.id} is being deleted`,
        };
      }
      this.#evaluation.observe(node, objects);
      const problem = this.#evaluation.unready(node);
      return problem === undefined
        ? { state: "synced" }
        : { state: "waiting", message: `${node.id}: ${problem}` };
    } catch (error) {
      if (error instanceof DataPending) return { state: "pending", message: error.message };
      // The instance went while it was looked at: nothing is left to report.
      if (this.#ctx.signal.aborted || (error instanceof RuntimeError && error.code === "OwnerGone"))
        throw error;
      this.#error ??= asError(error);
      return {
        state: "error",
        message: isConflict(error) ? error.message : `${node.id}: ${errorText(error)}`,
      };
    }
  }

  async #apply(node: GraphNode, desired: readonly JsonObject[]): Promise<Stored[]> {
    const slot = slotOf(node.kind);
    const children = this.#ctx.own[slot] as unknown as ManyHandle<GraphNode["kind"]>;
    const keys = desired.map((object) => keyOfChild(node, object));
    for (const [index, object] of desired.entries()) this.#claim(node, object, `${slot}|${keys[index]}`);
    const size = desired.length;
    return await Promise.all(
      desired.map(async (object, index) => {
        const item = node.type === "collection" ? { index, size } : undefined;
        const marked = this.#marked(node, object, item);
        return (await children.apply(keys[index] as string, marked as never)) as unknown as Stored;
      }),
    );
  }

  #claim(node: GraphNode, object: JsonObject, id: string): void {
    const { namespace, name } = object.metadata as { namespace?: string; name: string };
    const place = `${node.kind.group}/${node.kind.kind}/${namespace ?? ""}/${name}`;
    const other = this.#places.get(place);
    if (other !== undefined && other !== node.id) {
      throw new Error(`${node.kind.kind} ${name} is also what ${other} makes; give one of them another name`);
    }
    this.#places.set(place, node.id);
    this.#wanted.add(id);
  }

  #marked(
    node: GraphNode,
    object: JsonObject,
    item: { index: number; size: number } | undefined,
  ): JsonObject {
    const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = object;
    const { labels, annotations, ...named } = metadata as Record<string, JsonObject>;
    return {
      ...rest,
      metadata: {
        ...named,
        labels: { ...labels, ...childLabels(this.#graph.kind, this.#instance, node, item) },
        annotations: { ...annotations, [waveAnnotation]: String(node.wave) },
      },
    } as JsonObject;
  }

  /** Undefined when one that is named is not there. */
  #external(node: GraphNode, desired: readonly JsonObject[]): Stored[] | undefined {
    const seen = (this.#ctx.read as Record<string, unknown>)[readOf(node)];
    const { namespace, name, selector } = (desired[0] as JsonObject).metadata as {
      namespace?: string;
      name?: string;
      selector?: JsonObject;
    };
    if (node.type === "external") {
      const found = Array.isArray(seen)
        ? (seen as Stored[]).find(
            (each) => each.metadata.name === name && each.metadata.namespace === namespace,
          )
        : (seen as Stored | undefined);
      return found && [found];
    }
    const matches = labelSelectorFrom((selector ?? {}) as never);
    return (seen as Stored[]).filter(
      ({ metadata }) =>
        (namespace === undefined || namespace === "" || metadata.namespace === namespace) &&
        matchesLabels(matches, metadata.labels),
    );
  }

  /** Dependents first. */
  async #prune(): Promise<void> {
    const left = childrenOf(this.#ctx.own).filter(({ slot, key }) => !this.#wanted.has(`${slot}|${key}`));
    for (const { slot, key, object } of left.sort((a, b) => b.wave - a.wave)) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      await (this.#ctx.own[slot] as unknown as ManyHandle<GraphNode["kind"]>).delete(key);
    }
  }
}

/** A child that is there, and the wave in which it goes. */
export interface Child {
  readonly slot: string;
  readonly key: string;
  readonly object: Stored;
  readonly wave: number;
}

/** All children of an instance, whatever the definition says of them by now. */
export function childrenOf(own: Context["own"]): Child[] {
  return Object.entries(own).flatMap(([slot, handle]) => {
    const entries = (handle as unknown as ManyHandle<GraphNode["kind"]>).entries() as ReadonlyMap<
      string,
      Stored
    >;
    return [...entries].map(([key, object]) => ({ slot, key, object, wave: waveOf(object) }));
  });
}
