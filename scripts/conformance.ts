/**
 * `npm run conformance` and `npm run conformance:controllers`: play the recorded exchanges against the embedded
 * control plane, or against the one that `--server` names. Other arguments go to the runner.
 */
import { join } from "node:path";
import { startCluster } from "@keelson/cluster";
import { root, run } from "./run.ts";

const args = process.argv.slice(2).filter((argument) => argument !== "--controllers");
const controllers = args.length < process.argv.length - 2;
const runner = join(root, "conformance", controllers ? "controllers/run.mjs" : "run.mjs");

if (args.includes("--server")) process.exitCode = await run(process.execPath, [runner, ...args]);
else {
  await using cluster = await startCluster({ nodes: 0, controllers });
  const access = ["--server", cluster.server, "--token", cluster.token, "--insecure"];
  process.exitCode = await run(process.execPath, [runner, ...access, ...args]);
}
