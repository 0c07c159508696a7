/** `npm run conformance`: plays the recorded exchanges against the embedded control plane, or another server. */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { root, run } from "./run.ts";

const { values, tokens } = parseArgs({
  strict: false,
  tokens: true,
  options: { controllers: { type: "boolean" }, server: { type: "string" } },
});
const pass = tokens
  .filter((token) => token.kind !== "option" || token.name !== "controllers")
  .flatMap((token) =>
    token.kind === "option"
      ? [token.rawName, ...(token.value === undefined || token.inlineValue ? [] : [token.value])]
      : token.kind === "positional"
        ? [token.value]
        : [],
  );
const runner = join(root, "conformance", values.controllers ? "controllers/run.mjs" : "run.mjs");

if (values.server) process.exitCode = await run(process.execPath, [runner, ...pass]);
else {
  const { controlPlane } = await import("./control-plane.ts");
  await using server = await controlPlane({ controllers: values.controllers === true });
  process.exitCode = await run(process.execPath, [
    runner,
    "--server",
    server.url,
    "--token",
    server.token,
    "--insecure",
    ...pass,
  ]);
}
