import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Vote } from "../ha/quorum.ts";
import type { LeaseRecord } from "../ha/state.ts";
import { Campaign } from "./campaign.ts";
import type { Keeper } from "./keeper.ts";
import type { Clock, Engine, PeerStatus, Peers } from "./ports.ts";

const silence = new Promise<never>(() => {});
const vote = (name: string): Vote => ({ name, systemId: "7", timeline: 1, timelineEpoch: 1, lsn: 100n });
const record: LeaseRecord = {
  holder: "db-0",
  holderUid: "a",
  epoch: 3,
  renewTime: "",
  published: { quorums: [{ members: ["db-0", "db-1", "db-2"], acks: 2 }], systemId: "7" },
  policy: {
    instances: ["db-0", "db-1", "db-2"],
    durability: "quorum",
    initialInstance: "db-0",
    parameters: {},
    maximumLagBytes: 0,
  },
};

test.each([
  ["ends when another one has won", "2", true],
  ["goes on when nobody has", "1", false],
])("a campaign in which one refuses and one is silent %s", async (_name, version, isOver) => {
  const keeper = {
    stored: { record, version: "1" },
    lease: "expired",
    vote: async () => true,
    look: async () => {
      keeper.stored = { record, version };
    },
  };
  const campaign = new Campaign({
    me: { name: "db-2" },
    engine: { follow: async () => {}, position: async () => vote("db-2") } as unknown as Engine,
    peers: {
      status: async (name: string) =>
        name === "db-0" ? await silence : ({ name, vote: vote(name) } as unknown as PeerStatus),
      vote: async (name: string) => (name === "db-0" ? await silence : { refused: "it is no standby" }),
    } as unknown as Peers,
    keeper: keeper as unknown as Keeper,
    clock: {
      monotonic: () => 0,
      timer: (_ms: number, run: () => void) => queueMicrotask(run),
    } as unknown as Clock,
  });
  let hasEnded = false;
  void campaign
    .run(vote("db-2"), async () => {})
    .then(() => {
      hasEnded = true;
    });
  for (let turns = 0; turns < 10; turns++) await setImmediate();
  expect(hasEnded).toBe(isOver);
});
