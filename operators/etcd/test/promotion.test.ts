/** A learner becomes a voter when it lacks next to nothing: etcd itself would take one that lacks a tenth of the log. */
import { replay, type Subject } from "@keelson/testing";
import { expect, test } from "vitest";
import { decide } from "../src/decide/decide.ts";
import type { Decision } from "../src/decide/decision.ts";
import { leaderOf } from "../src/decide/facts.ts";
import type { Observed } from "../src/observe/observed.ts";
import { spec } from "./explore/scenario.ts";
import { type EtcdWorld, etcdSubject } from "./explore/subject.ts";
import type { SimEtcd } from "./simulation/etcd.ts";

function write({ application }: EtcdWorld, count: number): void {
  for (let i = 0; i < count; i++) application.write(application.group, "many", String(i));
}

/** The learner misses 600 of 6600 entries, until the new leader sends them. */
function fallBehind(world: EtcdWorld): void {
  const { processes, group } = world.application;
  const learner = [...processes].find(({ name }) => name === "example-3");
  const successor = group.voters().find(({ id }) => id !== group.leader?.data.memberId);
  if (!learner || !successor) throw new Error("the learner does not run");
  group.transfer(successor.id);
  learner.data.index--;
  write(world, 600);
}

type Decide = (observed: Observed) => Decision;

/** The learner falls behind when it is about to be promoted for the first time. */
async function play(decides: Decide): Promise<string> {
  let world: EtcdWorld | undefined;
  const disturbed: Decide = (o) => {
    const decision = decides(o);
    if (decision.do !== "promote" || !world) return decision;
    fallBehind(world);
    world = undefined;
    const { reason, message } = decision;
    return { do: "wait", recheckMs: 0, reason, message };
  };
  const edits = [
    {
      name: "a member joins after many writes",
      begin: async (began: EtcdWorld) => {
        world = began;
        write(began, 6_000);
        await spec({ size: 4 })(began);
      },
    },
  ];
  const subject: Subject<SimEtcd> = { ...etcdSubject({ decide: disturbed }), edits };
  const steps = edits.map(({ name }) => ({ atMs: 0, do: name }));
  const { trace } = await replay(subject, { beginning: "three members", seed: 1, steps });
  expect(world).toBeUndefined();
  return trace.map(({ text }) => text).join("\n");
}

/** As soon as etcd accepts it. */
const hasty: Decide = (o) => {
  const decision = decide(o);
  const learner = o.members.find(({ record, status }) => record.phase === "Learner" && status);
  const leader = leaderOf(o);
  if (decision.do !== "wait" || !learner?.entry || !leader) return decision;
  const { record, entry } = learner;
  return { ...decision, do: "promote", member: record.name, id: entry.id, via: leader.record.name };
};

test("a learner that lacks entries waits", { timeout: 120_000 }, async () => {
  expect(await play(decide)).toMatch(/is catching up \(6\d\d entries behind\).*becomes a voter/s);
});

test("one that is promoted too early is noticed", { timeout: 120_000 }, async () => {
  await expect(play(hasty)).rejects.toThrow("a learner that lags was promoted");
});
