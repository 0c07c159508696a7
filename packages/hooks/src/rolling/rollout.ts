/** Decides which child moves to the latest revision next. Pure: everything was looked at before. */
import { type Condition, findCondition, type Stored } from "@keelson/core";
import type { ConditionCheck, UpdateMethod } from "../children/child-rule.ts";
import type { Claims } from "./revision.ts";

/** A child by its kind (`Kind.group`) and name. */
export interface ChildName {
  readonly kind: string;
  readonly name: string;
}

/** A revision of the parent while a rollout is decided. */
export interface RolloutRevision {
  /** Children that stand at it. Changed by the decision. */
  readonly claims: Claims;
}

/** What a decision looks at. */
export interface RolloutView {
  /** The latest first, the others in any order. */
  readonly revisions: readonly RolloutRevision[];
  readonly latestName: string;
  /** What the latest revision asks for, in the order of its answer; kinds that roll only. */
  readonly desired: readonly ChildName[];
  readonly method: (kind: string) => UpdateMethod;
  readonly checks: (kind: string) => readonly ConditionCheck[];
  readonly observed: (child: ChildName) => Stored | undefined;
  /** Whether the child that is there is what the latest revision asks for. */
  readonly isCurrent: (child: ChildName) => boolean;
}

/** What a parent's status says of its rollout. */
export interface RolloutCondition {
  readonly type: "Updated";
  readonly status: "True" | "False";
  readonly reason: "RolloutWaiting" | "RolloutProgressing" | "OnLatestRevision";
  readonly message: string;
}

/** Moves at most one child that must change, and those that need no change at once. */
export function decideRollout(view: RolloutView): RolloutCondition {
  const owner = settleClaims(view);
  const [latest, ...others] = view.revisions as [RolloutRevision, ...RolloutRevision[]];
  for (const child of view.desired) {
    const by = owner.get(idOf(child));
    // One that nobody claims and that differs waits for its turn too: the record of revisions may be lost.
    const mustChange = view.observed(child) ? !view.isCurrent(child) : by !== undefined;
    if (by === latest || mustChange) continue;
    if (by) remove(by.claims, child);
    add(latest.claims, child);
    owner.set(idOf(child), latest);
  }
  for (const child of view.desired) {
    if (owner.get(idOf(child)) === latest) continue;
    const problem = unhappy(view, latest);
    if (problem !== undefined) return condition("False", "RolloutWaiting", problem);
    for (const other of others) remove(other.claims, child);
    add(latest.claims, child);
    return condition("False", "RolloutProgressing", `updating ${bare(child.kind)} ${child.name}`);
  }
  return condition("True", "OnLatestRevision", `latest ControllerRevision: ${view.latestName}`);
}

/** Drops claims of children that nobody wants or whose kind does not roll any more; the latest wins over the others. */
function settleClaims(view: RolloutView): Map<string, RolloutRevision> {
  const wanted = new Set(view.desired.map(idOf));
  const owner = new Map<string, RolloutRevision>();
  for (const revision of view.revisions) {
    for (const [kind, names] of revision.claims) {
      const kept = names.filter((name) => {
        const id = idOf({ kind, name });
        if (!wanted.has(id) || owner.has(id)) return false;
        owner.set(id, revision);
        return true;
      });
      if (kept.length === 0) revision.claims.delete(kind);
      else revision.claims.set(kind, kept);
    }
  }
  return owner;
}

/** Why the rollout must wait: a child that was moved to the latest revision is not as it should be. */
function unhappy(view: RolloutView, latest: RolloutRevision): string | undefined {
  for (const [kind, names] of latest.claims) {
    for (const name of names) {
      const child = { kind, name };
      const what = `${bare(kind)} ${name}`;
      const object = view.observed(child);
      if (!object) return `missing child ${what}`;
      if (!view.isCurrent(child)) return `child ${what} is not updated yet`;
      const { observedGeneration, conditions } = statusOf(object);
      const generation = object.metadata.generation ?? 0;
      if (view.method(kind) === "RollingInPlace" && (observedGeneration ?? generation) < generation) {
        return `child ${what} has not observed its latest spec`;
      }
      const failed = failedCheck(view.checks(kind), conditions);
      if (failed !== undefined) return `child ${what} failed its status check: ${failed}`;
    }
  }
  return undefined;
}

function failedCheck(
  checks: readonly ConditionCheck[],
  conditions: Condition[] | undefined,
): string | undefined {
  for (const { type, status, reason } of checks) {
    const found = findCondition(conditions, type);
    if (!found) return `the condition ${type} is missing`;
    if (status !== undefined && found.status !== status) return `${type} is ${found.status}, not ${status}`;
    if (reason !== undefined && found.reason !== reason) {
      return `the reason of ${type} is ${JSON.stringify(found.reason)}, not ${JSON.stringify(reason)}`;
    }
  }
  return undefined;
}

function statusOf(object: Stored): { observedGeneration?: number; conditions?: Condition[] } {
  return (object as { status?: { observedGeneration?: number; conditions?: Condition[] } }).status ?? {};
}

function condition(
  status: RolloutCondition["status"],
  reason: RolloutCondition["reason"],
  message: string,
): RolloutCondition {
  return { type: "Updated", status, reason, message };
}

function idOf({ kind, name }: ChildName): string {
  return `${kind}/${name}`;
}

function bare(groupKind: string): string {
  return groupKind.split(".")[0] as string;
}

function add(claims: Claims, { kind, name }: ChildName): void {
  const names = claims.get(kind) ?? [];
  if (!names.includes(name)) claims.set(kind, [...names, name]);
}

function remove(claims: Claims, { kind, name }: ChildName): void {
  const names = (claims.get(kind) ?? []).filter((each) => each !== name);
  if (names.length === 0) claims.delete(kind);
  else claims.set(kind, names);
}
