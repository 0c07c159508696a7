/** The families of definitions: which kinds they are written in, and who runs them. */
import { graphs, ResourceGraphDefinition } from "@keelson/graphs";
import { CompositeController, ControllerRevision, DecoratorController, hookHosts } from "@keelson/hooks";
import { PlanDefinition, planHost } from "@keelson/plans";
import type { AnyController } from "@keelson/runtime";
import type { Resource } from "@keelson/schema";

/** Graphs of kro, hooks of Metacontroller, and plans. */
export const families = ["graphs", "hooks", "plans"] as const;
/** Graphs of kro, hooks of Metacontroller, or plans. */
export type Family = (typeof families)[number];

/** The kinds of definitions, to be installed before them. */
export function definitionKinds(of: readonly Family[]): Resource[] {
  const kinds: Record<Family, readonly unknown[]> = {
    graphs: [ResourceGraphDefinition],
    hooks: [CompositeController, DecoratorController, ControllerRevision],
    plans: [PlanDefinition],
  };
  return of.flatMap((family) => kinds[family] as readonly Resource[]);
}

/** Controllers that run every definition of the cluster, of the given families. */
export function definitionHosts(of: readonly Family[]): AnyController[] {
  const hosts: Record<Family, () => AnyController[]> = {
    graphs: () => [graphs()],
    hooks: () => hookHosts(),
    plans: () => [planHost()],
  };
  return of.flatMap((family) => hosts[family]());
}

/** From a list with commas; nothing means all of them. @throws TypeError */
export function parseFamilies(text: string | undefined): Family[] {
  const words = (text ?? "").split(",").flatMap((word) => (word.trim() === "" ? [] : [word.trim()]));
  const unknown = words.find((word) => !families.some((family) => family === word));
  if (unknown !== undefined) {
    throw new TypeError(`there are no definitions named ${unknown}; there are ${families.join(", ")}`);
  }
  return families.filter((family) => words.length === 0 || words.includes(family));
}
