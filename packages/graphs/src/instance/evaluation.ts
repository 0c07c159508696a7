/** One look at one instance: what should be there, as far as that is known from what is there. Pure. */
import { ArrayList, CelList, type CelValue } from "@keelson/cel";
import { apiVersionOf, type JsonObject, type Stored } from "@keelson/core";
import {
  type Bindings,
  CostBudget,
  DataPending,
  type Expression,
  ExpressionFailed,
} from "../expressions/expression.ts";
import type { Rendered } from "../expressions/json.ts";
import { celValue } from "../expressions/values.ts";
import type { Graph, GraphNode } from "../graph/graph.ts";
import type { Path } from "../path.ts";
import { withDefaults } from "./defaults.ts";
import { collect, fill } from "./render.ts";

/** As many objects may one resource become. */
const maxCollection = 1_000;

export class Evaluation {
  readonly #graph: Graph;
  readonly #instance: Stored;
  readonly #nodes: ReadonlyMap<string, GraphNode>;
  readonly #observed = new Map<string, readonly Stored[]>();
  readonly #desired = new Map<string, readonly JsonObject[]>();
  readonly #values = new Map<string, CelValue>();
  readonly #ignored = new Map<string, boolean>();
  readonly #budget = new CostBudget();

  constructor(graph: Graph, instance: Stored) {
    this.#graph = graph;
    this.#instance = instance;
    this.#nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    const { status: _, spec, ...rest } = instance as Stored & { status?: unknown; spec?: JsonObject };
    // A cache that was filled before the schema changed has no defaults of new fields.
    const declared = graph.crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.["spec"] ?? {};
    const filled = withDefaults(spec, declared);
    this.#values.set(
      "schema",
      celValue({ ...rest, ...(filled === undefined ? {} : { spec: filled }) }, graph.schema),
    );
  }

  /** What the cluster holds of a resource; nothing is known of it before. */
  observe(node: GraphNode, objects: readonly Stored[]): void {
    this.#observed.set(node.id, objects);
    const seen = objects.map((object) => celValue(object, node.schema));
    if (isMany(node)) this.#values.set(node.id, new ArrayList(seen));
    else if (seen[0] !== undefined) this.#values.set(node.id, seen[0]);
    else this.#values.delete(node.id);
  }

  observedOf(node: GraphNode): readonly Stored[] {
    return this.#observed.get(node.id) ?? [];
  }

  /** Whether the resource is not to be there. What it depends on counts too. @throws DataPending, ExpressionFailed */
  ignored(node: GraphNode): boolean {
    const known = this.#ignored.get(node.id);
    if (known !== undefined) return known;
    const ignored = node.dependencies.some((id) => this.ignored(this.#node(id))) || !this.#included(node);
    this.#ignored.set(node.id, ignored);
    return ignored;
  }

  #included(node: GraphNode): boolean {
    return node.includeWhen.every((expression) => {
      const read = [...expression.references].filter((name) => this.#nodes.has(name));
      for (const id of read) {
        const problem = this.#seenUnready(this.#node(id));
        if (problem !== undefined)
          throw new DataPending(`includeWhen of ${node.id} waits for ${id}: ${problem}`);
      }
      try {
        return expression.truth(this.#bindings(expression), this.#budget);
      } catch (error) {
        // Data of the instance alone does not come later by itself.
        if (error instanceof DataPending && read.length === 0) throw new ExpressionFailed(error.message);
        throw error;
      }
    });
  }

  /** The objects that should be there. @throws DataPending, ExpressionFailed */
  desired(node: GraphNode): readonly JsonObject[] {
    const known = this.#desired.get(node.id);
    if (known) return known;
    for (const id of node.dependencies) {
      const problem = this.unready(this.#node(id));
      if (problem !== undefined) throw new DataPending(`${node.id} waits for ${id}: ${problem}`);
    }
    const made = node.type === "collection" ? this.#collection(node) : [this.#filled(node, {})];
    const desired = made.map((object) => this.#placed(node, object));
    refuseTwins(node, desired);
    this.#desired.set(node.id, desired);
    return desired;
  }

  #collection(node: GraphNode): JsonObject[] {
    let combinations: Readonly<Record<string, CelValue>>[] = [{}];
    for (const { name, list } of node.forEach) {
      const values = list.value(this.#bindings(list), this.#budget);
      if (!(values instanceof CelList)) throw new ExpressionFailed(`${list.shown} gave no list`);
      combinations = combinations.flatMap((each) => [...values].map((value) => ({ ...each, [name]: value })));
      if (combinations.length > maxCollection) {
        throw new ExpressionFailed(`${node.id} would become more than ${maxCollection} objects`);
      }
    }
    const once = this.#rendered(node, (perElement) => !perElement, {});
    return combinations.map((element) =>
      fill(node.template, [...once, ...this.#rendered(node, (perElement) => perElement, element)]),
    );
  }

  #filled(node: GraphNode, element: Bindings): JsonObject {
    return fill(
      node.template,
      this.#rendered(node, () => true, element),
    );
  }

  #rendered(
    node: GraphNode,
    wanted: (perElement: boolean) => boolean,
    element: Bindings,
  ): [Path, Rendered][] {
    return node.fields
      .filter(({ perElement }) => wanted(perElement))
      .map(({ at, expression }) => [
        at,
        expression.json({ ...this.#bindings(expression), ...element }, this.#budget),
      ]);
  }

  /** With the namespace that it goes to. */
  #placed({ id, kind, type }: GraphNode, object: JsonObject): JsonObject {
    const metadata = { ...(object.metadata as JsonObject) };
    if (type === "externalCollection") return object;
    if (kind.scope === "Namespaced" && !metadata.namespace) {
      const { namespace } = this.#instance.metadata;
      if (namespace === undefined)
        throw new ExpressionFailed(`${id} needs a namespace: its instance has none to give`);
      metadata.namespace = namespace;
    }
    if (typeof metadata.name !== "string" || metadata.name === "") {
      throw new ExpressionFailed(`${id} has no name`);
    }
    return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata };
  }

  /** Undefined when the resource is there and ready, or is not to be there. @throws DataPending, ExpressionFailed */
  unready(node: GraphNode): string | undefined {
    return this.ignored(node) ? undefined : this.#seenUnready(node);
  }

  #seenUnready(node: GraphNode): string | undefined {
    const objects = this.#observed.get(node.id);
    if (isMany(node)) return this.#unreadyMany(node, objects);
    const [object] = objects ?? [];
    if (!object) return "it is not there yet";
    return this.#unmet(node, { [node.id]: celValue(object, node.schema) });
  }

  #unreadyMany(node: GraphNode, objects: readonly Stored[] | undefined): string | undefined {
    if (!objects) return "it is not known yet";
    if (node.type === "collection") {
      const wanted = this.#desired.get(node.id);
      if (!wanted) return "it is not known yet";
      if (objects.length < wanted.length) return `${objects.length} of ${wanted.length} objects are there`;
    }
    const all = new ArrayList(objects.map((object) => celValue(object, node.schema)));
    for (const object of objects) {
      const problem = this.#unmet(node, { each: celValue(object, node.schema), [node.id]: all });
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #unmet({ readyWhen }: GraphNode, bindings: Bindings): string | undefined {
    for (const expression of readyWhen) {
      try {
        if (!expression.truth(bindings, this.#budget)) return `${expression.shown} is false`;
      } catch (error) {
        if (!(error instanceof DataPending)) throw error;
        return error.message;
      }
    }
    return undefined;
  }

  /** The fields of the status that can be told. @throws ExpressionFailed */
  status(): JsonObject {
    const values: [Path, Rendered][] = [];
    for (const { at, expression } of this.#graph.status) {
      try {
        values.push([at, expression.json(this.#bindings(expression), this.#budget)]);
      } catch (error) {
        if (!(error instanceof DataPending)) throw error;
      }
    }
    return collect(values);
  }

  /** What an expression of the definition reads, as far as it is there. */
  #bindings({ references }: Expression): Bindings {
    const out: Record<string, CelValue> = {};
    for (const name of references) {
      const value = this.#values.get(name);
      if (value !== undefined) out[name] = value;
    }
    return out;
  }

  /** The same, with the instance as conditions see it: with the conditions that it has so far. */
  bindingsWith(expression: Expression, rest: Bindings): Bindings {
    return { ...this.#bindings(expression), ...rest };
  }

  #node(id: string): GraphNode {
    return this.#nodes.get(id) as GraphNode;
  }
}

function isMany({ type }: GraphNode): boolean {
  return type === "collection" || type === "externalCollection";
}

function refuseTwins({ id }: GraphNode, objects: readonly JsonObject[]): void {
  const seen = new Set<string>();
  for (const { metadata } of objects) {
    const { namespace, name } = metadata as { namespace?: string; name?: string };
    const key = `${namespace ?? ""}/${name ?? ""}`;
    if (seen.has(key) && name !== undefined) throw new ExpressionFailed(`${id} would make ${name} twice`);
    seen.add(key);
  }
}
