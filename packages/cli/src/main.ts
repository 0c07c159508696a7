/** The table of commands. */
import { buildApplication, buildRouteMap, run, text_en } from "@stricli/core";
import { apiserver } from "./commands/apiserver.ts";
import { build } from "./commands/build.ts";
import { cluster } from "./commands/cluster.ts";
import { generate } from "./commands/generate.ts";
import { image } from "./commands/image.ts";
import { node } from "./commands/node.ts";
import { version } from "./version.ts";

const root = buildRouteMap({
  routes: { generate, build, cluster, apiserver, node, image },
  docs: {
    brief: "Kubernetes operators in TypeScript: write one, prove it, run it.",
  },
});

const application = buildApplication(root, {
  name: "keelson",
  versionInfo: { currentVersion: version },
  scanner: { caseStyle: "allow-kebab-for-camel" },
  documentation: { caseStyle: "convert-camel-to-kebab" },
  localization: { text: { ...text_en, exceptionWhileRunningCommand: (error) => sentenceOf(error) } },
});

/** Errors of ours are sentences for people; anything else is a fault of the program and shows where it happened. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? error.message : (error.stack ?? error.message);
}

/** Runs the command line and gives the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const before = process.exitCode;
  await run(application, args, { process });
  const code = process.exitCode ?? before ?? 0;
  return typeof code === "number" ? Math.abs(code) : 1;
}
