/** The table of commands. */
import { errorText } from "@keelson/core/internal";
import {
  type ArgumentParseError,
  ArgumentScannerError,
  buildApplication,
  buildRouteMap,
  ExitCode,
  formatMessageForArgumentScannerError,
  proposeCompletions,
  run,
  text_en,
} from "@stricli/core";
import { apiserver } from "./commands/apiserver.ts";
import { build } from "./commands/build.ts";
import { check } from "./commands/check.ts";
import { cluster } from "./commands/cluster.ts";
import { completion } from "./commands/completion.ts";
import { create } from "./commands/create.ts";
import { deploy, undeploy } from "./commands/deploy.ts";
import { dev } from "./commands/dev.ts";
import { eject } from "./commands/eject.ts";
import { envtest } from "./commands/envtest.ts";
import { generate } from "./commands/generate.ts";
import { image } from "./commands/image.ts";
import { init } from "./commands/init.ts";
import { install } from "./commands/install.ts";
import { node } from "./commands/node.ts";
import { registry } from "./commands/registry.ts";
import { run as runOperator } from "./commands/run.ts";
import { upgrade } from "./commands/upgrade.ts";
import { isStandIn } from "./envtest/assets.ts";
import { version } from "./version.ts";

/** How a shell is told that a command was not understood. */
const MISUSED = 2;

const root = buildRouteMap({
  routes: {
    ...{ init, create, dev, run: runOperator, install, eject, upgrade },
    ...{ generate, check, build, deploy, undeploy, image },
    ...{ cluster, apiserver, node, registry, envtest, completion },
  },
  docs: {
    brief: "Kubernetes operators in TypeScript: write one, prove it, run it.",
  },
});

/** Every command with its flags; the reference is written from it. */
export const application = buildApplication(root, {
  name: "keelson",
  versionInfo: { currentVersion: version },
  scanner: { caseStyle: "allow-kebab-for-camel" },
  documentation: { caseStyle: "convert-camel-to-kebab", onlyRequiredInUsageLine: true },
  localization: {
    text: {
      ...text_en,
      noCommandRegisteredForInput: (args) =>
        text_en.noCommandRegisteredForInput(args) +
        (args.corrections.length === 0 ? "; see keelson --help" : ""),
      exceptionWhileParsingArguments: (error) =>
        error instanceof ArgumentScannerError
          ? formatMessageForArgumentScannerError(error, { ArgumentParseError: refusalOf })
          : sentenceOf(error),
      exceptionWhileRunningCommand: (error) => sentenceOf(error),
    },
  },
});

function refusalOf({ externalFlagNameOrPlaceholder: where, input, exception }: ArgumentParseError): string {
  const why = errorText(exception);
  return `"${input}" is an invalid value for ${where}: ${why}`;
}

/** Errors of ours are sentences for people; anything else is a fault of the program and shows where it happened. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The API server's refusals have its number for a code.
  const told = "code" in error && (typeof error.code === "string" || error.name === "ApiError");
  return told ? error.message : (error.stack ?? error.message);
}

/** Runs the command line and gives the exit code: 1 when it could not be done, 2 when it was not understood. */
export async function main(args: readonly string[]): Promise<number> {
  endWithReader();
  if (args[0] === "__complete") return await complete(args.slice(1));
  const [first, standIn, ...given] = args;
  // They have other programs' command lines, which are theirs to read.
  if (first === "envtest" && isStandIn(standIn)) {
    const { runStandIn } = await import("./envtest/run.ts");
    return await runStandIn(standIn, given);
  }
  const before = process.exitCode;
  // As with git, kubectl and npm: `help cluster up` is `cluster up --help`.
  await run(application, args[0] === "help" ? [...args.slice(1), "--help"] : args, { process });
  const code = process.exitCode ?? before ?? 0;
  if (code === ExitCode.UnknownCommand || code === ExitCode.InvalidArgument) return MISUSED;
  return typeof code === "number" ? Math.abs(code) : 1;
}

/** What a shell says of a program that SIGPIPE ended. */
const NO_READER = 128 + 13;

/** `keelson … | head`: when nobody reads any more, a command that waits for a signal is ended by one, others end at once. */
function endWithReader(): void {
  if (process.stdout.listeners("error").includes(readerGone)) return;
  process.stdout.on("error", readerGone);
  process.stderr.on("error", () => {});
}

let ending = false;

function readerGone({ code }: NodeJS.ErrnoException): void {
  if (code !== "EPIPE" || ending) return;
  ending = true;
  if (process.listenerCount("SIGTERM") > 0) process.kill(process.pid, "SIGTERM");
  else process.exit(NO_READER);
}

/** What may follow: each proposal and what it is for, on a line of its own. The last word is unfinished. */
async function complete(words: readonly string[]): Promise<number> {
  for (const { brief, completion } of await proposeCompletions(application, words, { process })) {
    process.stdout.write(`${completion}\t${brief}\n`);
  }
  return 0;
}
