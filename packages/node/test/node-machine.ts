/** What the integration tests need of this machine: tools, images, and a namespace to run in. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locateProgram, type ProgramName } from "@keelson/images";
import { removeTree } from "@keelson/machine";
import { checkSandboxSupport } from "../src/namespace/support.ts";
import type { SandboxTools } from "../src/runtime/sandbox-runtime.ts";

export async function sandboxTools(): Promise<SandboxTools> {
  const path = async (name: ProgramName) => (await locateProgram(name)).path;
  const [bwrap, ip, nsenter, unshare, script] = await Promise.all(
    (["bwrap", "ip", "nsenter", "unshare", "script"] as const).map(path),
  );
  return { bwrap, ip, nsenter, unshare, script } as SandboxTools;
}

/** The reason why real sandboxes cannot be tested here, or undefined. */
export async function whyNoSandbox(): Promise<string | undefined> {
  const support = await checkSandboxSupport();
  return support.possible ? undefined : support.reason;
}

/** A suite's name, with the reason when it is skipped: the summary of a run shows names. */
export function titled(title: string, reason: string | undefined): string {
  return reason === undefined ? title : `${title}: ${reason}`;
}

export function temporaryDirectory(): AsyncDisposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "kn-test-"));
  return { path, [Symbol.asyncDispose]: () => removeTree(path) };
}
