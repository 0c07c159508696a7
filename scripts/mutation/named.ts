/** Mistakes that were made once, or that tests once did not notice: each must be noticed for ever after. */
import type { Mutant } from "./mutants.ts";

/** One mistake: `from`, which stands once in the file, becomes `to`. */
export interface NamedMutant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Where the tests are that must notice, in the order in which they are asked. */
  readonly tests: readonly string[];
}

const etcd = "operators/etcd/src";
const decide = ["operators/etcd/test/decide"];
const compound = ["operators/etcd/test/compound-faults", "operators/etcd/test"];
const etcdTests = [...decide, "operators/etcd/src", ...compound];

export const namedMutants: readonly NamedMutant[] = [
  {
    name: "connecting has no deadline",
    file: `${etcd}/engine/gateway.ts`,
    from: "withDeadline({ timeoutMs: 5_000, ...options }));\n    const received",
    to: "options);\n    const received",
    tests: ["operators/etcd/src/engine", ...etcdTests],
  },
  {
    name: "a member that leaves gets no pod while etcd counts it",
    file: `${etcd}/decide/facts.ts`,
    from: 'if (phase !== "Leaving" || id === undefined || removed) return false;',
    to: "return false;",
    tests: etcdTests,
  },
  {
    name: "a voter that merely restarts is removed",
    file: `${etcd}/decide/heal.ts`,
    from: "isGoneForLong(o, member) && !isLeader",
    to: "!isLeader",
    tests: etcdTests,
  },
  {
    name: "a removal is not weighed against the present majority",
    file: `${etcd}/decide/facts.ts`,
    from: "count > 1 && present >= majority(count) && others",
    to: "count > 1 && others",
    tests: etcdTests,
  },
  {
    name: "nothing harmless goes on beside a wait",
    file: `${etcd}/decide/decide.ts`,
    from: "return harmless.flatMap((policy) => policy(observed) ?? []);",
    to: "return [];",
    tests: etcdTests,
  },
  {
    name: "without a quorum no pod is made",
    file: `${etcd}/decide/decide.ts`,
    from: "  missingPods,\n  quorumLoss,",
    to: "  quorumLoss,\n  missingPods,",
    tests: etcdTests,
  },
  {
    name: "restoreFrom is ignored where volumes were kept",
    file: `${etcd}/decide/decide.ts`,
    from: "  foreignCluster,\n  twoOrigins,",
    to: "  foreignCluster,",
    tests: etcdTests,
  },
  {
    name: "unhealthy voters hide that etcd is out of space",
    file: `${etcd}/decide/decide.ts`,
    from: "  corruption,\n  noSpace,\n  unhealthyVoters,",
    to: "  unhealthyVoters,\n  corruption,\n  noSpace,",
    tests: etcdTests,
  },
  {
    name: "a claim that the cache does not show is taken for lost",
    file: `${etcd}/observe/observe.ts`,
    from: "  const live = await ctx.client.kind(PersistentVolumeClaim).find(ref);\n  if (!live) return;",
    to: "  const live = undefined as never;\n  if (!live) return;",
    tests: compound,
  },
  {
    name: "labels and owners of pods are not put back",
    file: `${etcd}/decide/drift.ts`,
    from: "({ pod }) => pod && !pod.deleting && pod.drifted",
    to: "({ pod }) => pod && pod.deleting && pod.drifted",
    tests: compound,
  },
  {
    name: "members that the operator did not add are told of nowhere",
    file: `${etcd}/decide/unknown.ts`,
    from: "if (unknownMembers.length === 0) return undefined;",
    to: "if (unknownMembers.length >= 0) return undefined;",
    tests: etcdTests,
  },
  {
    name: "a hibernated cluster is not started for its final backup",
    file: `${etcd}/steps/deletion.ts`,
    from: "paused: false, hibernate: false, version",
    to: "paused: false, version",
    tests: compound,
  },
  {
    name: "a paused cluster is not touched for its final backup",
    file: `${etcd}/steps/deletion.ts`,
    from: "{ ...spec, paused: false, hibernate",
    to: "{ ...spec, hibernate",
    tests: compound,
  },
  {
    name: "all backups are taken at once",
    file: `${etcd}/decide/backup.ts`,
    from: "o.ahead.length >= mostAtOnce",
    to: "o.ahead.length >= 1_000",
    tests: decide,
  },
  {
    name: "calls to etcd are not fenced by the lease",
    file: `${etcd}/steps/step.ts`,
    from: "    step.ctx.assertLeading();\n",
    to: "",
    tests: ["operators/etcd/src/steps", "operators/etcd/test"],
  },
  {
    name: "a quota of zero means zero",
    file: `${etcd}/decide/upkeep.ts`,
    from: "o.status.template?.recipe.quotaBytes || defaultQuota",
    to: "o.status.template?.recipe.quotaBytes ?? defaultQuota",
    tests: etcdTests,
  },
  {
    name: "a volume is deleted as the cache has it",
    file: `${etcd}/steps/claims.ts`,
    from: "await ctx.own.claims.delete(key, { resourceVersion: live.metadata.resourceVersion });",
    to: "await ctx.own.claims.delete(key);",
    tests: ["operators/etcd/src/steps", "operators/etcd/test"],
  },
  {
    name: "a member is removed without a second look",
    file: `${etcd}/steps/membership.ts`,
    from: "if (contradiction !== undefined) return { refused: contradiction };",
    to: "",
    tests: ["operators/etcd/src/steps", "operators/etcd/test"],
  },
  {
    name: "a learner is added as a voter",
    file: `${etcd}/engine/gateway.ts`,
    from: "{ peerURLs: peerUrls, isLearner: true }",
    to: "{ peerURLs: peerUrls }",
    tests: ["operators/etcd/src/engine", "operators/etcd/test"],
  },
  {
    name: "a record that joins counts as a voter too many",
    file: `${etcd}/decide/heal.ts`,
    from: "o.list && voterCount(o) > o.spec.size",
    to: "o.list && o.members.length > o.spec.size",
    tests: etcdTests,
  },
  {
    name: "the spec does not reach members that cannot run",
    file: `${etcd}/decide/decide.ts`,
    from: "  newerData,\n  stuckMembers,\n  stuckPods,",
    to: "  newerData,",
    tests: etcdTests,
  },
  {
    name: "liveness asks the port that only members with a leader open",
    file: `${etcd}/resources/pod.ts`,
    from: '...on(own ? "/livez?exclude=serializable_read" : "/metrics"),',
    to: 'httpGet: { path: "/health", port: clientPort },',
    tests: ["operators/etcd/src/resources", "operators/etcd/test"],
  },
  {
    name: "without a quorum nobody is asked for metrics",
    file: `${etcd}/observe/ask.ts`,
    from: "if (!connectMetrics || statuses.has(name)) return;",
    to: "return;",
    tests: ["operators/etcd/src/observe", "operators/etcd/test"],
  },
  {
    name: "what etcd refuses is told of nowhere",
    file: `${etcd}/steps/act.ts`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of one.
    from: "`${message}; refused for now: ${result.refused}`",
    to: "message",
    tests: ["operators/etcd/src/steps", "operators/etcd/test"],
  },
  {
    name: "an obstacle ends a rollout at once",
    file: `${etcd}/decide/rollback.ts`,
    from: "pod.obstacle !== undefined && ageMs >= o.spec.timeouts.obstacleSeconds * 1_000",
    to: "pod.obstacle !== undefined",
    tests: etcdTests,
  },
  {
    name: "a learner is waited for that nobody needs any more",
    file: `${etcd}/decide/join.ts`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of one.
    from: "if (o.members.length > size) return leave(o, member, `the cluster shrinks to ${size}`, reasons.shrinking);",
    to: "",
    tests: etcdTests,
  },
  {
    name: "backups have no resources",
    file: `${etcd}/resources/backup-pod.ts`,
    from: "({ ...each, resources })",
    to: "({ ...each, ...(resources && {}) })",
    tests: ["operators/etcd/src/resources"],
  },
  {
    name: "the default volume is smaller than the default quota",
    file: `${etcd}/api/cluster.ts`,
    from: '.default("4Gi")',
    to: '.default("1Gi")',
    tests: ["operators/etcd/src/api"],
  },
  {
    name: "a member that never joined leaves its claim behind",
    file: `${etcd}/decide/leaving.ts`,
    from: "  if (claim && !claim.deleting) {",
    to: "  if (claim && !claim.deleting && record.id !== undefined) {",
    tests: etcdTests,
  },
  {
    name: "a rollout looks at the first outdated member, and not at the next one",
    file: `${etcd}/decide/rollout.ts`,
    from: "member.nodeCordoned && member !== next",
    to: "member.nodeCordoned && member !== outdated[0]",
    tests: etcdTests,
  },
  {
    name: "a node writes the status of a pod that is gone for ever",
    file: "packages/node/src/kubelet/status-writer.ts",
    from: "if (answer === undefined) break;",
    to: 'if (answer === undefined) throw new Error("it is gone");',
    tests: ["packages/node/src/kubelet/status-writer.test.ts"],
  },
  {
    name: "that all data is lost is not reported",
    file: `${etcd}/reconcile.ts`,
    from: "    ctx.setStatus(statusOf(observed, decision));",
    to: '    if (decision.reason === "AllDataLost") return await act({ cluster, ctx, gathered, onAction: () => {} }, decision);\n    ctx.setStatus(statusOf(observed, decision));',
    tests: compound,
  },
  {
    name: "a reconcile is not aborted when the lease is lost",
    file: "packages/runtime/src/reconcile/deadline.ts",
    from: "  const unfollow = follow(outer, abort);",
    to: "  const unfollow = follow(outer, () => {});",
    tests: ["packages/runtime/src/reconcile", "packages/runtime/test"],
  },
  {
    name: "the escalation check ignores resourceNames of the binder",
    file: "packages/apiserver/src/authorization/rules.ts",
    from: "return !owner.resourceNames?.length || (name !== undefined && has(owner.resourceNames, name));",
    to: "return true;",
    tests: ["packages/apiserver/src/authorization"],
  },
  {
    name: "one recorded answer differs: a deleted Job comes without its warning",
    file: "packages/apiserver/src/rest/deletes.ts",
    from: 'resource.resource !== "jobs") return;',
    to: 'resource.resource !== "cronjobs") return;',
    tests: ["packages/apiserver/test/conformance.test.ts"],
  },
  {
    name: "a namespace goes although discovery failed",
    file: "packages/controllers/src/namespace/namespace-conditions.ts",
    from: "remaining.size === 0 && discoveryFailures.length === 0 && deleteFailures.length === 0",
    to: "remaining.size === 0 && deleteFailures.length === 0",
    tests: ["packages/controllers/src/namespace"],
  },
  {
    name: "restart back-off forgets after once its maximum",
    file: "packages/node/src/kubelet/restart-backoff.ts",
    from: "> 2 * this.#limits.maxMs",
    to: "> this.#limits.maxMs",
    tests: ["packages/node/src/kubelet/restart-backoff.test.ts"],
  },
];

/** As an edit of the file's text. */
export function mutantOf(named: NamedMutant, source: string): Mutant {
  const { name, file, from, to } = named;
  const start = source.indexOf(from);
  if (start < 0 || source.includes(from, start + 1))
    throw new Error(`"${name}": its text stands ${start < 0 ? "nowhere" : "more than once"} in ${file}`);
  const line = source.slice(0, start).split("\n").length;
  const end = start + from.length;
  return { file, line, start, end, text: to, change: name, within: { start, end, is: "statement" } };
}
