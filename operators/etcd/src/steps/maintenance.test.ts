/** Hashes of members are compared: whose data counts. */
import { expect, test } from "vitest";
import { cluster, silent, voter } from "../../test/decide/observed.ts";
import { compareHashes } from "./maintenance.ts";
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
