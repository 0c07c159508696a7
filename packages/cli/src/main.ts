/** The table of commands. */
import { buildApplication, buildRouteMap, run } from "@stricli/core";
import { apiserver } from "./commands/apiserver.ts";
import { cluster } from "./commands/cluster.ts";
import { image } from "./commands/image.ts";
import { node } from "./commands/node.ts";
import { version } from "./version.ts";

const root = buildRouteMap({
  routes: { cluster, apiserver, node, image },
  docs: {
    brief: "Kubernetes operators in TypeScript: write one, prove it, run it.",
  },
});

const application = buildApplication(root, {
  name: "keelson",
  versionInfo: { currentVersion: version },
  scanner: { caseStyle: "allow-kebab-for-camel" },
  documentation: { caseStyle: "convert-camel-to-kebab" },
});

/** Runs the command line and gives the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const before = process.exitCode;
  await run(application, args, { process });
  const code = process.exitCode ?? before ?? 0;
  return typeof code === "number" ? Math.abs(code) : 1;
}
