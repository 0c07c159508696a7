/** Everything that is decided in a pass. Lanes stand side by side: a wait in one keeps no other from its work. Pure. */
import { reasons } from "../api/conditions.ts";
import type { Observed } from "../observe/observed.ts";
import { initialize } from "./initialize.ts";
import { leadership } from "./leadership.ts";
import type { Plan } from "./plan.ts";
import { lockedOut, repair, wiped } from "./repair.ts";
import { restore } from "./restore.ts";
import { rollout } from "./rollout.ts";
import { leftovers } from "./scale.ts";
import { upgrade } from "./upgrade.ts";

/** In the order in which they act, and in which the first that keeps it from being ready is reported. */
const lanes: readonly ((o: Observed) => Plan)[] = [
  leadership,
  repair,
  wiped,
  lockedOut,
  restore,
  upgrade,
  refusal,
  rollout,
  leftovers,
  initialize,
];

export function decide(o: Observed): Plan {
  if (o.spec.paused) {
    const message = "spec.paused is set: the operator watches and does nothing";
    return { notReady: { state: "waiting", reason: reasons.paused, message, recheckMs: 10_000 } };
  }
  return together(lanes.map((lane) => lane(o)));
}

/** What the spec asks for and cannot be had; everything else goes on. */
function refusal({ specProblem }: Observed): Plan {
  return specProblem ? { notReady: { state: "failed", ...specProblem } } : {};
}

export function together(plans: readonly Plan[]): Plan {
  const waits = plans.flatMap(({ notReady }) => (notReady ? [notReady] : []));
  const [first] = waits;
  const opens = plans.find((plan) => plan.opens !== undefined)?.opens;
  const soonest = Math.min(...waits.map(({ recheckMs }) => recheckMs ?? Number.POSITIVE_INFINITY));
  return {
    actions: plans.flatMap(({ actions = [] }) => actions),
    status: Object.assign({}, ...plans.map(({ status = {} }) => status)),
    events: plans.flatMap(({ events = [] }) => events),
    ...(opens !== undefined && { opens }),
    ...(first && { notReady: { ...first, ...(Number.isFinite(soonest) ? { recheckMs: soonest } : {}) } }),
  };
}
