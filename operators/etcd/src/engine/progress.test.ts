import { expect, test } from "vitest";
import { progressIn } from "./progress.ts";

const metrics = (applied: string, committed: string) => `# HELP etcd_server_id Server or member ID
etcd_debugging_mvcc_current_revision 25
etcd_debugging_mvcc_db_compaction_keys_total 0
etcd_server_is_learner 0
etcd_server_proposals_applied_total ${applied}
etcd_server_proposals_committed_total ${committed}
`;

test("a member that has just started counts what it applied, one that runs what is committed", () => {
  expect(progressIn(metrics("39", "0"))).toEqual({ revision: 25n, index: 39n, learner: false, peers: [] });
  expect(progressIn(metrics("40", "41"))).toMatchObject({ index: 41n });
});

const failures = 'etcd_network_peer_sent_failures_total{To="ff"} 4\n';
const known = `etcd_network_known_peers{Local="a0",Remote="a0"} 1
etcd_network_known_peers{Local="a0",Remote="ee"} 0
etcd_network_known_peers{Local="a0",Remote="fe"} 1
`;

test("others are known by their names, and before 3.6 by what could not be sent to them since the start", () => {
  expect(progressIn(metrics("39", "0") + failures)?.peers).toEqual(["255"]);
  expect(progressIn(metrics("40", "41") + failures)?.peers).toEqual([]);
  expect(progressIn(metrics("40", "41") + failures + known)?.peers).toEqual(["254"]);
});

test("large numbers are written as powers of ten", () => {
  expect(progressIn(metrics("1.2345678e+07", "0"))).toMatchObject({ index: 12_345_678n });
});

test("metrics of something else say nothing", () => {
  expect(progressIn("go_goroutines 7\n")).toBeUndefined();
});
