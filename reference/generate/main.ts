// Writes the tables of built-in kinds from the real control plane and its modules; `--check` only compares.
import { parseArgs } from "node:util";
import { startControlPlane } from "../control-plane.ts";
import { kindOutputs } from "./emit-kinds.ts";
import { protobufOutputs } from "./emit-protobuf.ts";
import { tableOutputs } from "./emit-tables.ts";
import { httpsServer, type Observation, observe } from "./observe.ts";
import { differences, write } from "./output.ts";

const { values: options } = parseArgs({ options: { check: { type: "boolean", default: false } } });

const generatedDirectories = [
  "packages/cluster/src/apiserver/protobuf/generated",
  "packages/cluster/src/apiserver/tables/generated",
  "packages/core/src/kinds",
];
/** Alpha kinds exist only behind their gates. */
const everything = ["--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true"];

async function observed(flags: readonly string[]): Promise<Observation> {
  await using controlPlane = await startControlPlane({ flags: { "kube-apiserver": flags } });
  return await observe(httpsServer(controlPlane.server, controlPlane.token));
}

const usual = await observed([]);
const outputs = [
  ...tableOutputs(usual),
  ...protobufOutputs(),
  ...kindOutputs(await observed(everything), usual),
];
if (options.check) {
  const changed = differences(outputs, generatedDirectories);
  for (const path of changed) console.error(`${path} is not what the generator writes`);
  process.exitCode = changed.length > 0 ? 1 : 0;
} else {
  write(outputs, generatedDirectories);
  console.log(`wrote ${outputs.length} files`);
}
