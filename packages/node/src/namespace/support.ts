/** Whether this machine lets us make the namespaces that sandboxes need, and if not, why. */

import { findOnPath, locateProgram } from "@keelson/images/internal";
import { runCommand } from "@keelson/machine";

export type SandboxSupport =
  | { readonly possible: true }
  /** A sentence: what is in the way, and what would remove it. */
  | { readonly possible: false; readonly reason: string };

export interface SupportOptions {
  readonly platform?: NodeJS.Platform;
  readonly onProgress?: (sentence: string) => void;
}

/** Tries the real thing once: namespaces, a virtual cable, and a sandbox inside. Takes some 50 ms. */
export async function checkSandboxSupport(options: SupportOptions = {}): Promise<SandboxSupport> {
  const platform = options.platform ?? process.platform;
  if (platform !== "linux") {
    return { possible: false, reason: `pods run as processes on Linux only, and this is ${platform}` };
  }
  const unshare = findOnPath("unshare");
  if (unshare === undefined) return { possible: false, reason: "unshare is missing: install util-linux" };
  const tools: string[] = [];
  for (const name of ["ip", "bwrap"] as const) {
    try {
      tools.push((await locateProgram(name, { onProgress: options.onProgress })).path);
    } catch (error) {
      return { possible: false, reason: error instanceof Error ? error.message : String(error) };
    }
  }
  const trial = [
    '"$1" link add kltest type veth peer name kltest1',
    '"$2" --ro-bind / / --proc /proc --dev /dev --unshare-pid --as-pid-1 true',
  ].join(" && ");
  const flags = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc"];
  const tried = await runCommand(unshare, [...flags, "sh", "-c", trial, "sh", ...tools]);
  if (tried.code === 0) return { possible: true };
  const said = tried.stderr.trim().split("\n").at(-1) ?? "";
  return {
    possible: false,
    reason: `this machine refuses user, network, mount or process namespaces (${said || `exit code ${tried.code}`}); allow unprivileged user namespaces, or run outside a locked-down container`,
  };
}
