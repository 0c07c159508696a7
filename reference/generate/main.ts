// Writes the tables of built-in kinds from a running API server; `--check` only says whether they are up to date.
import { parseArgs } from "node:util";
import { protobufOutputs } from "./emit-protobuf.ts";
import { tableOutputs } from "./emit-tables.ts";
import { httpsServer, observe } from "./observe.ts";
import { differences, write } from "./output.ts";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    server: { type: "string" },
    token: { type: "string" },
  },
});

const generatedDirectories = [
  "packages/cluster/src/apiserver/protobuf/generated",
  "packages/cluster/src/apiserver/tables/generated",
];

const observation = await observe(httpsServer(options.server ?? "", options.token ?? ""));
const outputs = [...tableOutputs(observation), ...protobufOutputs()];
if (options.check) {
  const changed = differences(outputs, generatedDirectories);
  for (const path of changed) console.error(`${path} is not what the generator writes`);
  process.exitCode = changed.length > 0 ? 1 : 0;
} else {
  write(outputs, generatedDirectories);
  console.log(`wrote ${outputs.length} files`);
}
