/** What a graph's resources are called, and where they are kept. */
import type { AnyKind } from "@keelson/core";
import type { Graph } from "@keelson/graphs";
import type { StructuralSchema } from "@keelson/schema";
import { kindKey } from "./built-in.ts";
import { camelCase } from "./code.ts";

export type GraphNode = Graph["nodes"][number];

/** Thrown for what has no form in TypeScript; the message is for people. */
export class NoForm extends Error {
  override readonly name = "NoForm";
}

export function isExternal({ type }: GraphNode): boolean {
  return type === "external" || type === "externalCollection";
}

/** Looked up by a name that follows from the instance alone. */
export function isRef({ type, dependencies }: GraphNode): boolean {
  return type === "external" && dependencies.length === 0;
}

export function isMany({ type }: GraphNode): boolean {
  return type === "collection" || type === "externalCollection";
}

export function builderOf({ id }: GraphNode): string {
  return `${id}For`;
}

/** As the graph names the slot of a kind. */
function slotOf({ kind, group, version }: AnyKind): string {
  return labelValue([kind.toLowerCase(), ...(group === "" ? [] : [group]), version].join("."));
}

export function slotVariable(kind: AnyKind): string {
  return camelCase(kind.kind, "slot");
}

export function slotsOf(nodes: readonly GraphNode[]): { slot: string; variable: string; kind: AnyKind }[] {
  const kinds = [...new Map(nodes.map(({ kind }) => [kindKey(kind), kind])).values()];
  return kinds.map((kind) => ({ slot: slotOf(kind), variable: slotVariable(kind), kind }));
}

/** As the graph names its controller. */
export function controllerName({ kind }: Graph): string {
  return labelValue(`${kind.resource}.${kind.group}`);
}

function labelValue(text: string): string {
  if (text.length <= 63) return text;
  throw new NoForm(`${text} is too long for a label`);
}

export function specOf({ crd }: Graph): StructuralSchema {
  return crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.["spec"] ?? { type: "object" };
}
