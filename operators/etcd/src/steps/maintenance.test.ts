/** Hashes of members are compared: whose data counts. History is dropped: up to where. */
import { expect, test } from "vitest";
import { cluster, silent, voter } from "../../test/decide/observed.ts";
import { EtcdError } from "../engine/errors.ts";
import { compareHashes, makeSpace } from "./maintenance.ts";
import type { DecisionTo, StepContext } from "./step.ts";

/** The comparison that is recorded when these members answer with these hashes. */
async function compared(hashes: Readonly<Record<string, string>>, observed = cluster([voter(0)])) {
  let recorded: unknown;
  const step = {
    ctx: {
      signal: new AbortController().signal,
      setStatus: (status: { comparison?: unknown }) => {
        recorded = status.comparison;
      },
    },
    gathered: {
      observed,
      answers: {
        statuses: new Map(Object.keys(hashes).map((name) => [name, { revision: 7n }])),
        etcd: (name: string) => ({
          hashKv: async () => ({ hash: hashes[name], compactRevision: 0n, revision: 7n }),
        }),
      },
    },
    event: () => {},
  } as unknown as StepContext;
  const decision = { do: "compareHashes", purpose: "p", members: Object.keys(hashes) };
  await compareHashes(step, decision as unknown as DecisionTo<"compareHashes">);
  return recorded;
}

test("a majority of all voters agrees, or nobody does", async () => {
  const three = cluster([voter(0), voter(1), voter(2)]);
  const missing = cluster([voter(0), voter(1, silent), voter(2, silent)]);
  const [a, b, c] = ["example-0", "example-1", "example-2"];
  expect(await compared({ [a]: "x", [b]: "x", [c]: "y" }, three)).toMatchObject({ agreed: true, odd: [c] });
  expect(await compared({ [a]: "x", [b]: "y" }, three)).toMatchObject({ agreed: false, odd: [] });
  expect(await compared({ [a]: "x" }, missing)).toMatchObject({ agreed: false });
});

test("history is dropped up to the newest revision, and what is written meanwhile is not taken for dropped", async () => {
  const calls: string[] = [];
  let recorded: unknown;
  const etcd = {
    compact: async (revision: bigint) => void calls.push(`compact ${revision}`),
    defragment: async () => {},
    status: async () => ({ dbSizeInUseBytes: 950n, revision: 101n }),
    disarm: async () => void calls.push("disarm"),
  };
  const step = {
    ctx: {
      signal: new AbortController().signal,
      assertLeading: () => {},
      clock: { now: () => Date.parse("2026-01-01T12:00:00Z") },
      setStatus: ({ space }: { space?: unknown }) => {
        recorded = space;
      },
    },
    gathered: {
      observed: cluster([voter(0), voter(1)]),
      answers: { statuses: new Map([["example-1", { revision: 98n }]]), etcd: () => etcd },
    },
    event: () => {},
  } as unknown as StepContext;
  const decision = {
    ...{ do: "makeSpace", via: "example-1", members: ["example-1"] },
    ...{ revision: 100n, alarms: [], quota: 1_000n },
  };
  await makeSpace(step, decision as unknown as DecisionTo<"makeSpace">);
  expect(calls).toEqual(["compact 100"]);
  expect(recorded).toEqual({ revision: "100", fullAt: "2026-01-01T12:00:00.000Z", quota: "1000" });
});

test("no further member is defragmented when the cluster is paused meanwhile, and the alarm stays", async () => {
  const made = async (paused: boolean) => {
    const calls: string[] = [];
    const etcd = (name: string) => ({
      compact: async () => {},
      defragment: async () => void calls.push(`defragment ${name}`),
      status: async () => ({ dbSizeInUseBytes: 1n }),
      disarm: async () => void calls.push("disarm"),
    });
    const step = {
      ctx: {
        signal: new AbortController().signal,
        assertLeading: () => {},
        clock: { now: () => 0 },
        setStatus: () => {},
        client: { kind: () => ({ find: async () => ({ metadata: { uid: "u" }, spec: { paused } }) }) },
      },
      cluster: { metadata: { name: "example", namespace: "default", uid: "u" }, spec: {} },
      gathered: { observed: cluster([voter(0), voter(1)]), answers: { etcd } },
      event: () => {},
    } as unknown as StepContext;
    const decision = {
      ...{ do: "makeSpace", via: "example-0", members: ["example-1", "example-0"] },
      ...{ revision: 100n, alarms: ["nospace"], quota: 1_000n },
    };
    await makeSpace(step, decision as unknown as DecisionTo<"makeSpace">);
    return calls;
  };
  expect(await made(false)).toEqual(["defragment example-1", "defragment example-0", "disarm"]);
  expect(await made(true)).toEqual(["defragment example-1"]);
});

test("hashes are compared although 3.4 refuses the revision up to which history was dropped", async () => {
  const asked: bigint[] = [];
  let recorded: unknown;
  const hashKv = async (revision: bigint) => {
    asked.push(revision);
    if (revision === 7n) throw new EtcdError("Compacted", "required revision has been compacted");
    return { hash: "x", compactRevision: 7n, revision: 7n };
  };
  const step = {
    ctx: {
      signal: new AbortController().signal,
      setStatus: ({ comparison }: { comparison?: unknown }) => {
        recorded = comparison;
      },
    },
    gathered: {
      observed: cluster([voter(0)]),
      answers: { statuses: new Map([["example-0", { revision: 7n }]]), etcd: () => ({ hashKv }) },
    },
    event: () => {},
  } as unknown as StepContext;
  const decision = { do: "compareHashes", purpose: "p", members: ["example-0"] };
  await compareHashes(step, decision as unknown as DecisionTo<"compareHashes">);
  expect(asked).toEqual([7n, 0n]);
  expect(recorded).toMatchObject({ agreed: true, odd: [] });
});
