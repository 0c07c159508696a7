/**
 * `npm run conformance` and `npm run conformance:controllers`: play the recorded exchanges against the embedded
 * control plane, or against the one that `--server` names. Other arguments go to the runner.
 */
import { join } from "node:path";
import { startApiServer } from "@keelson/apiserver";
import { startCluster } from "@keelson/cluster";
import { systemClock } from "@keelson/core";
import recorded from "../conformance/own/recorded.json" with { type: "json" };
import { root, run } from "./run.ts";

const args = process.argv.slice(2).filter((argument) => argument !== "--controllers");
const controllers = args.length < process.argv.length - 2;
const runner = join(root, "conformance", controllers ? "controllers/run.mjs" : "run.mjs");

if (args.includes("--server")) process.exitCode = await run(process.execPath, [runner, ...args]);
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
