/** The first member, once in the life of a cluster. */
import { reasons } from "../api/conditions.ts";
import { hex } from "../engine/etcd.ts";
import { versionProblem } from "../engine/version.ts";
import type { Observed, ObservedMember } from "../observe/observed.ts";
import { memberName } from "../resources/names.ts";
import { recipeOf, templateOf } from "../resources/recipe.ts";
import type { Decision } from "./decision.ts";
import { obstacleOf, wantsOtherClass, withMember } from "./facts.ts";

const reason = reasons.bootstrapping;

/** Service names have 63 characters, and the client service adds seven to the cluster's name. */
const longestName = 52;

/**
 * Only a cluster that has no id may form one, and only from its seed. What answers on the network plays no part in it: an
 * unreachable cluster is not a new one.
 */
export function bootstrap(o: Observed): Decision | undefined {
  if (o.status.clusterId !== undefined) return undefined;
  const seed = o.members.find(({ record }) => record.phase === "Seed");
  const problem = specProblem(o);
  if (problem !== undefined) return { do: "refuse", reason: reasons.specRefused, message: problem };
  const template = templateOf(recipeOf(o, o.spec.version));
  if (!seed) {
    const name = memberName(o.cluster, o.status.nextMember ?? 0);
    return {
      do: "record",
      status: {
        members: [{ name, phase: "Seed", template: template.hash }],
        nextMember: (o.status.nextMember ?? 0) + 1,
        template,
      },
      reason,
      message: `${name} will be the first member`,
    };
  }
  return seedStep(o, seed, template);
}

function seedStep(o: Observed, seed: ObservedMember, template: ReturnType<typeof templateOf>): Decision {
  const { record, pod, claim, status } = seed;
  const { name } = record;
  const step = (action: object, message: string) => ({ ...action, reason, message }) as Decision;
  const own = status && o.list?.members.find(({ id }) => id === status.memberId);
  if (status && own && o.list?.members.length === 1 && o.list.clusterId === status.clusterId) {
    const id = hex(status.memberId);
    const clusterId = hex(status.clusterId);
    return step(
      {
        do: "record",
        status: { clusterId, members: withMember(o, name, { id, phase: "Voter" }) },
        event: `cluster ${clusterId} was formed by ${name}`,
      },
      `${name} has formed the cluster`,
    );
  }
  // No client has been promised anything yet: the current spec counts.
  if (template.hash !== o.status.template?.hash) {
    const members = withMember(o, name, { template: template.hash });
    return step({ do: "record", status: { template, members } }, `${name} will be made from a new template`);
  }
  const otherClass = wantsOtherClass(o, seed);
  if (pod && !pod.deleting && (pod.ended || otherClass || pod.template !== template.hash)) {
    return step({ do: "deletePods", members: [name] }, `${name} is recreated from the spec`);
  }
  if (pod) {
    const obstacle = obstacleOf(seed);
    const why = obstacle === undefined ? "" : `: ${obstacle}`;
    return step(
      { do: "wait", recheckMs: 500 },
      `the first member ${name} is ${pod.deleting ? "stopping" : `starting${why}`}`,
    );
  }
  if (otherClass && !claim?.deleting)
    return step({ do: "deleteClaim", member: name }, `${name} needs another storage class`);
  if (!claim) return step({ do: "createClaim", member: name }, `${name} gets its volume`);
  if (claim.deleting) return step({ do: "wait" }, `the volume of ${name} is being deleted`);
  const { restore } = o;
  if (restore?.state === "waiting") return step({ do: "wait" }, restore.message);
  if (restore?.state === "refused")
    return { do: "refuse", reason: reasons.specRefused, message: restore.message };
  const plan = { member: name, template, start: { mode: "seed" }, role: "learner" } as const;
  return step(
    { do: "createPods", pods: [restore ? { ...plan, restore: restore.source } : plan] },
    `the first member ${name} starts${restore ? ` from ${restore.source.name}` : ""}`,
  );
}

/** Why the spec can never run, as a sentence. */
function specProblem(o: Observed): string | undefined {
  if (o.cluster.name.length > longestName) {
    return `the name ${o.cluster.name} is too long: members and services are named after it, so it may have ${longestName} characters`;
  }
  return versionProblem(o.spec.version);
}
