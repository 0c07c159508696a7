import type { StepRecord } from "@keelson/schema";
import { SeededRandom } from "@keelson/testing/clock";
import { expect, test } from "vitest";
import type { StatusDraft } from "./status-draft.ts";
import { Steps } from "./steps.ts";

/** Steps whose lease is lost during the write of that number, the first being 1. */
function losingTheLease(duringWrite: number) {
  const happened: string[] = [];
  let [steps, leads, writes]: [readonly StepRecord[], boolean, number] = [[], true, 0];
  const draft = {
    get steps() {
      return steps;
    },
    setSteps: (now: readonly StepRecord[]) => {
      steps = now;
    },
    askFor: () => {},
    write: async () => {
      happened.push(steps[0]?.finishedAt === undefined ? "intent stored" : "result stored");
      if (++writes === duringWrite) leads = false;
    },
  } as unknown as StatusDraft;
  const check = () => {
    if (!leads) throw new Error("the lease is lost");
  };
  const signal = new AbortController().signal;
  const all = new Steps({ uid: "u", draft, random: new SeededRandom(1), now: () => 0, signal, check });
  const run = async () => await all.run("pay", async () => void happened.push("paid"));
  return { run, happened };
}

test("a step's work does not begin when the lease is lost while its intent is stored", async () => {
  const { run, happened } = losingTheLease(1);
  await expect(run()).rejects.toThrow("the lease is lost");
  expect(happened).toEqual(["intent stored"]);
});

test("a step's work stands between its intent and its result", async () => {
  const { run, happened } = losingTheLease(2);
  await run();
  expect(happened).toEqual(["intent stored", "paid", "result stored"]);
});
