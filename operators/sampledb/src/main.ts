/** Runs the SampleDB operator. */
import { operator } from "keelson";
import { controllers } from "./controllers.ts";

/** A successor begins after 15 s, as soon as nothing of its predecessor can be under way any more. */
const leaderElection = {
  leaseMs: 15_000,
  renewDeadlineMs: 8_000,
  renewEveryMs: 2_000,
  writeTimeoutMs: 6_000,
};
const inCluster = process.env["KUBERNETES_SERVICE_HOST"] !== undefined;

await operator({
  name: "sampledb-operator",
  controllers,
  leaderElection: inCluster && leaderElection,
}).run();
