/** A graph: a definition that was checked against its cluster and is ready to be followed. */
import type { AnyKind, JsonObject } from "@keelson/core";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import type { Expression } from "../expressions/expression.ts";
import type { RootedSchema } from "../openapi/schema.ts";
import type { Path } from "../path.ts";

/** A field whose value an expression gives. */
export interface ComputedField {
  /** In the template, or in the status. */
  readonly at: Path;
  readonly expression: Expression;
  /** Reads a variable of a loop: it is asked for each element. */
  readonly perElement: boolean;
}

/** A variable that takes its values from a list. */
export interface Dimension {
  readonly name: string;
  readonly list: Expression;
}

/** One resource of a graph. */
export interface GraphNode {
  readonly id: string;
  /** Its place in the definition. */
  readonly index: number;
  readonly type: "resource" | "collection" | "external" | "externalCollection";
  readonly kind: AnyKind;
  /** Undefined when the server publishes none. */
  readonly schema: RootedSchema | undefined;
  readonly template: JsonObject;
  readonly fields: readonly ComputedField[];
  readonly includeWhen: readonly Expression[];
  readonly readyWhen: readonly Expression[];
  readonly forEach: readonly Dimension[];
  /** Ids of the resources that its expressions read. */
  readonly dependencies: readonly string[];
  /** It goes before those of lower waves. */
  readonly wave: number;
}

/** A definition, checked and compiled. */
export interface Graph {
  readonly name: string;
  /** The kind of its instances. */
  readonly kind: AnyKind;
  readonly crd: CustomResourceDefinitionObject;
  /** In the order in which they are made. */
  readonly nodes: readonly GraphNode[];
  /** What `schema` is to expressions. */
  readonly schema: RootedSchema;
  readonly status: readonly ComputedField[];
  /** Expressions that give conditions, in place of the built-in ones. */
  readonly conditions: readonly Expression[];
}

export function isExternal({ type }: Pick<GraphNode, "type">): boolean {
  return type === "external" || type === "externalCollection";
}

/** Kinds that a graph makes objects of, each once. */
export function ownedKinds({ nodes }: Pick<Graph, "nodes">): AnyKind[] {
  const kinds = nodes.filter((node) => !isExternal(node)).map(({ kind }) => kind);
  return [...new Map(kinds.map((kind) => [`${kind.group}/${kind.version}/${kind.kind}`, kind])).values()];
}
