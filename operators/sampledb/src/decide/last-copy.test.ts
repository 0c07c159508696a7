import { describe, expect, test } from "vitest";
import type { ClaimView } from "../observe/observed.ts";
import { factsFixture, leadershipFixture, observedFixture } from "./fixture.ts";
import { claimToRead, leaderToCopy } from "./last-copy.ts";

const status = { primary: "db-0", epoch: 3, leadership: leadershipFixture(1) };
const promotion = {
  ...{ server: "db-1", runId: "run-1", podUid: "pod-1", claimUid: "claim-1" },
  ...{ epoch: 4, why: "", loss: "" },
};
const { replicationId } = status.leadership;

describe("the last snapshot is taken from", () => {
  const primary = (ordinal: number, changes = {}) => ({
    name: `db-${ordinal}`,
    facts: factsFixture(ordinal, { role: "primary", replicationId: `${ordinal}`.repeat(40), ...changes }),
  });
  const replica = { name: "db-1", facts: factsFixture(1) };
  const next = { secondReplicationId: replicationId };

  test("the primary that is recorded", () => {
    expect(leaderToCopy(status, [primary(0, { replicationId }), replica])).toBe("db-0");
    expect(leaderToCopy(status, [replica])).toBeUndefined();
  });

  test("the one that has taken over, though nobody has recorded that", () => {
    expect(leaderToCopy(status, [primary(1, next)])).toBe("db-1");
    expect(leaderToCopy(status, [primary(0, { replicationId }), primary(1, next)])).toBe("db-1");
    expect(leaderToCopy({ ...status, promotion }, [primary(1)])).toBe("db-1");
  });

  test("one that leads with a history that the status does not know: it is of an earlier time", () => {
    const known = (lineage: string[]) => ({ ...status, leadership: leadershipFixture(1, { lineage }) });
    expect(leaderToCopy(known([]), [primary(1)])).toBe("db-1");
    expect(leaderToCopy(known(["1".repeat(40)]), [primary(1)])).toBeUndefined();
  });

  test("nobody who leads and was never chosen", () => {
    expect(leaderToCopy(status, [primary(1)])).toBeUndefined();
    expect(leaderToCopy({ ...status, promotion: { ...promotion, runId: "old" } }, [primary(1)])).toBe(
      undefined,
    );
    expect(leaderToCopy({}, [primary(1)])).toBeUndefined();
    expect(leaderToCopy(status, [primary(0), primary(1)])).toBe("db-0");
  });
});

describe("without a server the last snapshot is read from", () => {
  const claims = (...changes: Partial<ClaimView>[]) =>
    observedFixture({ replicas: 1 }).servers.map(({ claim }, i) => ({
      ...(claim as ClaimView),
      ...changes[i],
    }));
  const read = (known: Parameters<typeof claimToRead>[0], ...changes: Partial<ClaimView>[]) =>
    claimToRead(known, claims(...changes))?.uid;

  test("the volume of the last primary, as the claims say", () => {
    expect(read({}, { primaryEpoch: 2 }, { primaryEpoch: 3 })).toBe("claim-1");
    expect(read({}, { epoch: 0, primaryEpoch: 0 })).toBe("claim-1");
    expect(read({}, { epoch: 0 }, { epoch: undefined })).toBeUndefined();
    expect(read({}, { deleting: true }, { lost: true })).toBeUndefined();
  });

  test("the volume of a primary that was just made, and is not marked yet", () => {
    const led = { ...status, epoch: 4, leadership: leadershipFixture(1, { claimUid: "claim-1" }) };
    expect(read(led)).toBe("claim-1");
    expect(read({ ...status, promotion })).toBe("claim-1");
    expect(read({ promotion: { ...promotion, epoch: 1 } }, { epoch: 0 }, { epoch: undefined })).toBe(
      "claim-1",
    );
  });
});
