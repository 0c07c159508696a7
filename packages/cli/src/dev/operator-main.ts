/**
 * The process of an operator under `keelson dev`. It loads what does not change between two saves and then waits, so that
 * a save costs no more than the import of the project's own modules. It ends with its parent.
 */
import { createHash } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { connect } from "@keelson/client";
import { install, pinoLogger } from "@keelson/runtime";
import { operatorChannel, type ReconcileReport, reconcileChannel } from "@keelson/runtime/internal";
import { loadOperator, type OperatorParts, readProject } from "../project.ts";
import { mainOf } from "../run/operator-process.ts";
import type { FromOperator, ToOperator } from "./messages.ts";

process.on("disconnect", () => process.exit(1));
const [directory = "."] = process.argv.slice(2);
try {
  await run();
} catch (error) {
  say({ type: "broken", text: sentenceOf(error) });
  process.exitCode = 1;
}
// The parent's line must not keep an operator alive that has stopped.
process.channel?.unref();

async function run(): Promise<void> {
  await warm();
  say({ type: "warm" });
  const { installed } = await heard("load");
  const before = process.cpuUsage();
  const project = readProject(directory);
  const parts = await loadOperator(project);
  const crds = fingerprintOf(parts);
  // While the version before still works: CRDs that are refused leave it alone.
  if (installed !== crds) {
    await installCrds(parts);
    say({ type: "installed", crds, kinds: parts.resources.map(({ kind }) => kind) });
  }
  say({ ...described(parts), type: "loaded" });
  await heard("start");
  subscribe(reconcileChannel, (message) => say({ type: "reconciled", report: message as ReconcileReport }));
  subscribe(operatorChannel, () => {
    const { system, user } = process.cpuUsage(before);
    say({ type: "working", cpuMs: (system + user) / 1_000 });
  });
  process.channel?.unref();
  await import(pathToFileURL(mainOf(project)).href);
}

/** What every operator loads sooner or later: the SDK as the project has it, the connection, the log. */
async function warm(): Promise<void> {
  const require = createRequire(join(directory, "package.json"));
  for (const name of ["keelson", "keelson/kinds"]) {
    try {
      await import(pathToFileURL(require.resolve(name)).href);
    } catch {
      // A project that lacks it says so when it is imported.
    }
  }
  const [client] = await Promise.all([connect(), pinoLogger({ name: "warm" })]);
  await client.raw({ path: "/version" }).catch(() => {});
  await client.close();
}

async function installCrds({ resources }: OperatorParts): Promise<void> {
  const client = await connect();
  try {
    await install(client, resources);
  } finally {
    await client.close();
  }
}

function described({ controllers, name, resources, webhooks }: OperatorParts) {
  return {
    name,
    kinds: resources.map(({ group, kind, resource, scope, version }) => ({
      group,
      kind,
      resource,
      scope,
      version,
    })),
    controllers: Object.fromEntries(
      controllers.map((each) => [each.name, "kind" in each ? each.kind.kind : each.name]),
    ),
    webhooks: webhooks.length,
  };
}

function fingerprintOf({ resources }: OperatorParts): string {
  const crds = resources.map((resource) => resource.crd());
  return createHash("sha256").update(JSON.stringify(crds)).digest("hex");
}

async function heard<T extends ToOperator["type"]>(type: T): Promise<Extract<ToOperator, { type: T }>> {
  for (;;) {
    const [message] = (await once(process, "message")) as [ToOperator];
    if (message.type === type) return message as Extract<ToOperator, { type: T }>;
  }
}

function say(message: FromOperator): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

/** Errors of ours are sentences; others show where they were thrown. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const told = "code" in error && (typeof error.code === "string" || error.name === "ApiError");
  return told ? error.message : (error.stack ?? error.message);
}
