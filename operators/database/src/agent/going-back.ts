/** The data that came of an upgrade or a restore is lost: what was before it is made the database again, with a person's approval. */
import { type Before, knowsMore, type LeaseRecord, type Published } from "../ha/state.ts";
import type { Keeper } from "./keeper.ts";
import { othersIn } from "./others.ts";
import type { Clock, Log, Peers } from "./ports.ts";

export interface GoingBackOptions {
  readonly me: { readonly name: string };
  readonly keeper: Keeper;
  readonly peers: Peers;
  readonly clock: Clock;
  readonly log: Log;
}

/** Resolves with what came of it, for people. Who serves then is elected as always. */
export async function goBack({ me, keeper, peers, clock, log }: GoingBackOptions): Promise<string> {
  const { stored } = keeper;
  const before = stored?.record.published.before;
  if (!stored || !before) return "there is nothing to go back to";
  const { record, version } = stored;
  const names = new Set([...othersIn(record, me.name), ...before.quorums.flatMap(({ members }) => members)]);
  names.delete(me.name);
  const answers = await Promise.all(
    [...names].map(async (name) => await peers.status(name).catch(() => undefined)),
  );
  const heard = answers.filter((answer) => answer !== undefined);
  const newer = heard.find(({ systemId }) => systemId === record.published.systemId);
  if (newer) return `${newer.name} has newer data`;
  const better = heard.find((status) => knowsMore(status, record));
  if (better) return `${better.name} knows more than the Lease`;
  const at = new Date(clock.now()).toISOString();
  if (!(await keeper.release(returned(record, before, at), version))) return "somebody was faster";
  log.warn("the data of before is the database again", { before: before.at });
  return "the data of before is the database again";
}

function returned({ published, holder, epoch }: LeaseRecord, before: Before, at: string): Published {
  const { systemId, timeline, timelineEpoch, quorums, lsn, archived, version = "" } = before;
  const { upgrade, restored, restores, switchover } = published;
  const message = `its data was lost, and that of before ${before.at} is served again`;
  return {
    ...(switchover && { switchover }),
    ...(restored && { restored }),
    ...(restores && { restores }),
    ...(upgrade && { upgrade: { ...upgrade, outcome: "Failed", message } }),
    ...(systemId !== undefined && { systemId }),
    ...(timeline !== undefined && { timeline }),
    ...(timelineEpoch !== undefined && { timelineEpoch }),
    ...(lsn !== undefined && { lsn }),
    ...(archived !== undefined && { archived }),
    quorums,
    returnedTo: version,
    lastFailover: {
      ...{ epoch: epoch + 1, from: holder, to: "", at, lostBytes: 0, mayHaveLost: true },
      reason: "approved",
    },
  };
}
