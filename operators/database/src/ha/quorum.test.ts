import { expect, test } from "vitest";
import { elect, type Quorum, type Vote, votesNeeded } from "./quorum.ts";

const vote = (name: string, lsn: number, timelineEpoch = 1): Vote => ({
  name,
  systemId: "s",
  timeline: timelineEpoch,
  timelineEpoch,
  lsn: BigInt(lsn),
});
const three: Quorum = { members: ["a", "b", "c"], acks: 2 };

test("any set that may elect shares a member with any set that may acknowledge", () => {
  for (let size = 1; size <= 7; size++) {
    for (let acks = 1; acks <= size; acks++) {
      const needed = votesNeeded({
        members: Array.from({ length: size }, (_, index) => String(index)),
        acks,
      });
      expect(needed + acks).toBeGreaterThan(size);
      // One vote less would not be enough.
      expect(needed - 1 + acks).toBeLessThanOrEqual(size);
    }
  }
});

test("the one with the most log wins", () => {
  expect(elect({ quorums: [three], systemId: "s", votes: [vote("b", 5), vote("c", 7)] })).toEqual({
    winner: vote("c", 7),
  });
});

test("a newer timeline wins over a longer log", () => {
  const votes = [vote("a", 90, 1), vote("c", 70, 2)];
  expect(elect({ quorums: [three], systemId: "s", votes })).toEqual({ winner: vote("c", 70, 2) });
});

test("without enough votes it says who is missing", () => {
  expect(elect({ quorums: [three], systemId: "s", votes: [vote("c", 7)] })).toEqual({
    missing: ["a", "b"],
    votes: 1,
    needed: 2,
  });
});

test("every promise must be met, also the one that is being left", () => {
  const pair: Quorum = { members: ["a", "b"], acks: 2 };
  expect(elect({ quorums: [three, pair], systemId: "s", votes: [vote("b", 7)] })).toMatchObject({
    missing: ["a", "c"],
  });
  expect(elect({ quorums: [pair], systemId: "s", votes: [vote("b", 7)] })).toMatchObject({
    winner: { name: "b" },
  });
});

test("votes with another database's data do not count", () => {
  const votes = [vote("b", 7), { ...vote("c", 9), systemId: "other" }];
  expect(elect({ quorums: [three], systemId: "s", votes })).toMatchObject({ missing: ["a", "c"] });
});

test("who is in no promise is not elected, unless loss is accepted", () => {
  const pair: Quorum = { members: ["a", "b"], acks: 2 };
  const votes = [vote("b", 7), vote("c", 9)];
  expect(elect({ quorums: [pair], systemId: "s", votes })).toMatchObject({ winner: { name: "b" } });
  expect(elect({ quorums: [three], systemId: "s", votes: [vote("c", 9)], acceptLoss: true })).toMatchObject({
    winner: { name: "c" },
  });
});

test("with equal data the preferred one wins", () => {
  const votes = [vote("b", 7), vote("c", 7)];
  expect(elect({ quorums: [three], systemId: "s", votes, preferred: ["c"] })).toMatchObject({
    winner: { name: "c" },
  });
});
