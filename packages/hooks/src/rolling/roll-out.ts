/** Rolls a change of a parent out to its children: revisions are asked, decided on and stored before a child changes. */
import {
  type AnyKind,
  type Condition,
  deepEqual,
  findCondition,
  formatTime,
  groupKind,
  type JsonObject,
  type LabelRequirement,
  type LabelSelector,
  type Stored,
} from "@keelson/core";
import type { RawContext } from "@keelson/runtime/internal";
import {
  type AnyObject,
  type CompositeControllerObject,
  ControllerRevision,
  type ControllerRevisionObject,
} from "../api/resources.ts";
import { type ChildRule, isRolling } from "../children/child-rule.ts";
import { claim } from "../children/claim.ts";
import { controllerReference, type DesiredChild } from "../children/desired.ts";
import type { ObjectMap } from "../children/object-map.ts";
import { withCondition } from "../parent/parent-status.ts";
import { type Claims, claimsOf, claimsToChildren, parentAt, patchOf, revisionName } from "./revision.ts";
import { type ChildName, decideRollout, type RolloutCondition } from "./rollout.ts";

/** What the hook says of the parent at a revision. */
interface Asked {
  readonly status: JsonObject;
  readonly children: readonly DesiredChild[];
  readonly resyncAfterSeconds: number;
  readonly finalized: boolean;
}

export interface RollOutOptions {
  readonly definition: CompositeControllerObject;
  readonly parent: AnyObject;
  readonly parentKind: AnyKind;
  readonly rules: readonly ChildRule[];
  readonly observed: ObjectMap;
  readonly selector: LabelSelector;
  readonly isGenerated: boolean;
  /** `revision` names the state that the parent is at, so that answers about two of them are not mixed. */
  readonly ask: (parent: AnyObject, revision: string) => Promise<Asked | undefined>;
}

interface Revision {
  readonly name: string;
  readonly patch: JsonObject;
  readonly claims: Claims;
  readonly answer: Asked;
}

const groupLabel = "metacontroller.k8s.io/apiGroup";
const resourceLabel = "metacontroller.k8s.io/resource";

type StoredRevision = Stored & ControllerRevisionObject;

/** The answer as a whole: of the latest revision, but for children that another revision still holds. */
export async function rollOut(ctx: RawContext, options: RollOutOptions): Promise<Asked | undefined> {
  const { definition, parent, parentKind, selector } = options;
  const paths = definition.spec.parentResource.revisionHistory?.fieldPaths ?? [];
  const fieldPaths = paths.length > 0 ? paths : ["spec"];
  const stored = (await claim(ctx, {
    parent,
    parentKind,
    selector: withLabels(selector, ownLabels(parentKind)),
    kind: ControllerRevision,
    watch: "revisions",
  })) as StoredRevision[];
  const patch = patchOf(parent, fieldPaths);
  const [known, others] = split(stored, patch);
  const latestName = known?.metadata.name ?? revisionName(parentKind, parent, patch);
  const latestAnswer = await options.ask(parent, latestName);
  if (!latestAnswer) return undefined;
  const latest: Revision = {
    name: latestName,
    patch,
    claims: claimsOf(known ?? {}),
    answer: latestAnswer,
  };
  const revisions = [latest];
  for (const each of others) {
    const at = parentAt(parent, each.parentPatch as JsonObject, fieldPaths) as AnyObject;
    const { name } = each.metadata;
    const answer = (await options.ask(at, name)) ?? latestAnswer;
    revisions.push({ name, patch: each.parentPatch as JsonObject, claims: claimsOf(each), answer });
  }
  const condition = await decide(ctx, options, revisions);
  const kept = revisions.filter(({ claims }, index) => index === 0 || claims.size > 0);
  await storeRevisions(ctx, options, stored, kept);
  return {
    status: withCondition(latestAnswer.status, {
      ...condition,
      lastTransitionTime: movedAt(parent, condition, formatTime(ctx.clock.now())),
    }),
    children: latestAnswer.children.map((child) =>
      isRolling(child.rule) && !kept.some((revision) => claims(revision, child))
        ? { ...child, asIs: true }
        : heldChild(child, kept.slice(1)),
    ),
    resyncAfterSeconds: soonest(kept),
    finalized: kept.every(({ answer }) => answer.finalized),
  };
}

/** The time stays while the status of the condition does. */
function movedAt(parent: AnyObject, { type, status }: RolloutCondition, now: string): string {
  const before = findCondition(parent.status?.["conditions"] as Condition[] | undefined, type);
  return before?.status === status ? (before.lastTransitionTime ?? now) : now;
}

function split(
  stored: readonly StoredRevision[],
  patch: JsonObject,
): [StoredRevision | undefined, StoredRevision[]] {
  const same = stored.filter((each) => deepEqual(each.parentPatch as JsonObject, patch));
  return [same[0], stored.filter((each) => !same.includes(each))];
}

/** Looks at every child that may move before the decision, which itself only thinks. */
async function decide(ctx: RawContext, options: RollOutOptions, revisions: readonly Revision[]) {
  const { rules, observed } = options;
  const [latest] = revisions as [Revision];
  const rolling = latest.answer.children.filter(({ rule }) => isRolling(rule));
  const current = new Set<string>();
  for (const child of rolling) {
    const seen = observed.get(child.rule.kind, child.key);
    if (seen && !(await ctx.wouldChange(child.rule.watch, child.body))) current.add(idOf(child));
  }
  const ruleOf = (kind: string) => rules.find((rule) => groupKind(rule.kind) === kind);
  return decideRollout({
    revisions,
    latestName: latest.name,
    desired: rolling.map((child) => nameOf(child)),
    method: (kind) => ruleOf(kind)?.method ?? "OnDelete",
    checks: (kind) => ruleOf(kind)?.checks ?? [],
    observed: ({ kind, name }) => observed.named(kind, name),
    isCurrent: ({ kind, name }) => current.has(`${kind}/${name}`),
  });
}

/** What should be is stored before anything is done about it. */
async function storeRevisions(
  ctx: RawContext,
  options: RollOutOptions,
  stored: readonly StoredRevision[],
  kept: readonly Revision[],
): Promise<void> {
  const { parent, parentKind, isGenerated } = options;
  const names = new Set(kept.map(({ name }) => name));
  for (const { metadata } of stored) {
    if (names.has(metadata.name) || metadata.deletionTimestamp !== undefined) continue;
    await ctx.kind(ControllerRevision).delete(metadata, { uid: metadata.uid });
  }
  const spec = (parent.spec ?? {}) as {
    selector?: { matchLabels?: Record<string, string> };
    template?: { metadata?: { labels?: Record<string, string> } };
  };
  const labels = {
    ...(isGenerated
      ? { "controller-uid": parent.metadata.uid }
      : { ...spec.template?.metadata?.labels, ...spec.selector?.matchLabels }),
    ...ownLabels(parentKind),
  };
  for (const { name, patch, claims } of kept) {
    await ctx.apply("revisions", {
      apiVersion: "metacontroller.k8s.io/v1alpha1",
      kind: "ControllerRevision",
      metadata: {
        name,
        namespace: parent.metadata.namespace as string,
        labels,
        ownerReferences: [controllerReference(parentKind, parent)] as unknown as JsonObject[],
      },
      parentPatch: patch,
      children: claimsToChildren(claims),
    });
  }
}

/** The child as the revision that holds it wants it. */
function heldChild(child: DesiredChild, others: readonly Revision[]): DesiredChild {
  const holder = others.find((revision) => claims(revision, child));
  return holder?.answer.children.find((each) => idOf(each) === idOf(child)) ?? child;
}

function claims({ claims: names }: Revision, child: DesiredChild): boolean {
  const { kind, name } = nameOf(child);
  return names.get(kind)?.includes(name) ?? false;
}

function soonest(revisions: readonly Revision[]): number {
  const wishes = revisions.map(({ answer }) => answer.resyncAfterSeconds).filter((seconds) => seconds > 0);
  return wishes.length === 0 ? 0 : Math.min(...wishes);
}

function ownLabels({ group, resource }: AnyKind): Record<string, string> {
  return { [groupLabel]: group, [resourceLabel]: resource };
}

function withLabels(selector: LabelSelector, labels: Record<string, string>): LabelSelector {
  const more = Object.entries(labels).map(
    ([key, value]): LabelRequirement => ({ key, operator: "=", values: [value] }),
  );
  return { requirements: [...selector.requirements, ...more] };
}

function nameOf({ rule, body }: DesiredChild): ChildName {
  return { kind: groupKind(rule.kind), name: body.metadata["name"] as string };
}

function idOf(child: DesiredChild): string {
  const { kind, name } = nameOf(child);
  return `${kind}/${name}`;
}
