/**
 * `npm run conformance` and `npm run conformance:controllers`: play the recorded exchanges against the embedded
 * control plane, or against the one that `--server` names.
 */
import { join } from "node:path";
import { startApiServer } from "@keelson/apiserver";
import { startCluster } from "@keelson/cluster";
import { systemClock } from "@keelson/core";
import recorded from "../conformance/own/recorded.json" with { type: "json" };
import { commandLine } from "./command-line.ts";
import { root, run } from "./run.ts";

const {
  words: _,
  controllers,
  ...options
} = commandLine({
  command: "npm run conformance",
  does: `Plays recorded exchanges with Kubernetes 1.36.4 against the embedded control plane, and compares the answers.
conformance:own plays cases of our own, conformance:controllers scenarios of the controllers and the scheduler.`,
  options: {
    controllers: { help: "scenarios of controllers and scheduler instead of exchanges with the API server" },
    only: { text: "SUITE,…", help: "these suites alone, such as ssa,crd" },
    case: { text: "TEXT", help: "cases alone whose names contain this" },
    diff: { number: "N", help: "differences to print for each case (default: 6, of controllers 8)" },
    verbose: { help: "print also what is equal" },
    messages: { help: "compare the wording of errors as well; not with --controllers" },
    json: { text: "FILE", help: "write the results there; not with --controllers" },
    server: { text: "URL", help: "play against this server instead of the embedded one" },
    token: { text: "TEXT", help: "with --server: of a member of system:masters" },
    insecure: { help: "with --server: do not check its certificate" },
    cases: { text: "DIR", help: "what is sent (default: conformance/cases)" },
    scenarios: { text: "DIR", help: "with --controllers: what is played" },
    golden: { text: "DIR", help: "what the real one answered" },
    record: { help: "write --golden from the answers instead of comparing them" },
  },
});
const args = Object.entries(options).flatMap(([name, value]) =>
  value === undefined || value === false ? [] : value === true ? [`--${name}`] : [`--${name}`, String(value)],
);
const runner = join(root, "conformance", controllers ? "controllers/run.mjs" : "run.mjs");

if (options.server !== undefined) process.exitCode = await run(process.execPath, [runner, ...args]);
else if (controllers) {
  await using cluster = await startCluster({ nodes: 0 });
  await play(cluster.server, cluster.token);
} else {
  // Time is frozen at the day of the recording: tables show ages in days, and managedFields are ordered by the second of
  // their last change.
  const instant = Date.parse(recorded.at);
  await using server = await startApiServer({ port: 0 }, { clock: { ...systemClock, now: () => instant } });
  await play(server.address, server.token);
}

async function play(server: string, token: string): Promise<void> {
  const access = ["--server", server, "--token", token, "--insecure"];
  process.exitCode = await run(process.execPath, [runner, ...access, ...args]);
}
