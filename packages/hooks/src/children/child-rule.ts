/** The kinds of children that a definition names, and what happens to one that differs. */
import { type AnyKind, apiVersionOf, groupKind, type Stored } from "@keelson/core";

/** What happens to a child that differs from what its hook asks for. */
export type UpdateMethod = "OnDelete" | "Recreate" | "InPlace" | "RollingRecreate" | "RollingInPlace";

/** What a condition of a child must say before the rollout goes on. */
export interface ConditionCheck {
  readonly type: string;
  readonly status?: string | undefined;
  readonly reason?: string | undefined;
}

/** One kind of children. */
export interface ChildRule {
  /** The name of its watch. */
  readonly watch: string;
  readonly kind: AnyKind;
  readonly method: UpdateMethod;
  readonly checks: readonly ConditionCheck[];
}

export function isRolling({ method }: ChildRule): boolean {
  return method === "RollingRecreate" || method === "RollingInPlace";
}

/** `Kind.group/version`, as requests name a kind. */
export function kindName(kind: AnyKind): string {
  return `${kind.kind}.${apiVersionOf(kind)}`;
}

/** `Deployment default/web`, for sentences. */
export function describe(kind: AnyKind, { metadata }: Pick<Stored, "metadata">): string {
  const { namespace, name } = metadata;
  return `${groupKind(kind)} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}
