/** Runs the etcd operator. */
import { operator } from "keelson";
import { controllers, metrics } from "./controllers.ts";

/** A new leader starts after 15 s, when no request of the old one can be in flight any more. */
const leaderElection = {
  leaseMs: 15_000,
  renewDeadlineMs: 8_000,
  renewEveryMs: 2_000,
  writeTimeoutMs: 6_000,
};
const inCluster = process.env["KUBERNETES_SERVICE_HOST"] !== undefined;

await operator({
  name: "etcd-operator",
  controllers,
  leaderElection: inCluster && leaderElection,
  collect: () => metrics.families(),
}).run();
