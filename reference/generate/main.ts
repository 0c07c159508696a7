// Writes the tables of built-in kinds from the real control plane and its modules; `--check` only compares.

import { commandLine } from "../../scripts/command-line.ts";
import { startControlPlane } from "../control-plane.ts";
import { observeBootstrap } from "./bootstrap.ts";
import { kindOutputs } from "./emit-kinds.ts";
import { protobufOutputs } from "./emit-protobuf.ts";
import { tableOutputs } from "./emit-tables.ts";
import { httpsServer, observe, type Server } from "./observe.ts";
import { observeLists } from "./observe-resources.ts";
import { differences, write } from "./output.ts";

const options = commandLine({
  command: "npm run generate",
  does: "Writes the tables of built-in kinds from the real control plane and its modules (npm run reference).",
  options: { check: { help: "only compare, and fail when a file is not current" } },
});

const generatedDirectories = [
  "packages/apiserver/src/protobuf/generated",
  "packages/apiserver/src/tables/generated",
  "packages/core/src/kinds",
];
/** Alpha kinds exist only behind their gates. */
const everything = ["--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true"];

/** Runs `ask` against a control plane with these flags. */
async function withServer<T>(flags: readonly string[], ask: (server: Server) => Promise<T>): Promise<T> {
  await using controlPlane = await startControlPlane({ flags: { "kube-apiserver": flags } });
  return await ask(httpsServer(controlPlane.server, controlPlane.token));
}

const usual = await withServer([], async (server) => {
  const observation = await observe(server);
  return {
    observation,
    lists: await observeLists(server, observation),
    bootstrap: await observeBootstrap(server),
  };
});
const all = await withServer(everything, observe);
const outputs = [
  ...tableOutputs(usual.observation, usual.lists, usual.bootstrap),
  ...protobufOutputs(),
  ...kindOutputs(all, usual.observation),
];
if (options.check) {
  const changed = differences(outputs, generatedDirectories);
  for (const path of changed) console.error(`${path} is not what the generator writes`);
  process.exitCode = changed.length > 0 ? 1 : 0;
} else {
  write(outputs, generatedDirectories);
  console.log(`wrote ${outputs.length} files`);
}
