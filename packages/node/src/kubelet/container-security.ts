/** What a container's security context means for its processes. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Container, SeccompProfile as ProfileSource } from "@keelson/core/kinds";
import type { StoredPod } from "../api/api.ts";
import { NodeError } from "../errors.ts";
import { effectiveCapabilities } from "../runtime/capabilities.ts";
import type { ContainerSpec } from "../runtime/container-runtime.ts";
import type { SeccompProfile } from "../runtime/seccomp-profile.ts";

export type ContainerSecurity = Pick<ContainerSpec, "capabilities" | "readOnlyRoot" | "seccomp" | "unmasked">;

/**
 * Programs never gain privileges by being run, whatever `allowPrivilegeEscalation` says: set-user-ID bits and file
 * capabilities count for nothing in these sandboxes. `seccompDirectory` holds profiles of one's own.
 */
export async function containerSecurity(
  pod: StoredPod,
  container: Container,
  seccompDirectory: string,
): Promise<ContainerSecurity> {
  const own = container.securityContext ?? {};
  // Debug containers come after the pod was admitted.
  if ((own.appArmorProfile?.type ?? "Unconfined") !== "Unconfined") {
    throw new NodeError("ContainerConfig", "cannot enforce AppArmor: AppArmor is not enabled on the host");
  }
  const privileged = own.privileged ?? false;
  const profile = own.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  return {
    capabilities: effectiveCapabilities(own.capabilities ?? {}, privileged),
    readOnlyRoot: own.readOnlyRootFilesystem ?? false,
    seccomp: privileged ? { kind: "unconfined" } : await seccompProfile(profile, seccompDirectory),
    // With the machine's own users, root in the pod could change the machine by what it sees then.
    unmasked: privileged || (own.procMount === "Unmasked" && pod.spec.hostUsers === false),
  };
}

/** Without a word on it, the default of container engines applies. */
async function seccompProfile(source: ProfileSource | undefined, directory: string): Promise<SeccompProfile> {
  switch (source?.type) {
    case undefined:
    case "RuntimeDefault":
      return { kind: "default" };
    case "Unconfined":
      return { kind: "unconfined" };
    case "Localhost":
      return await localProfile(source.localhostProfile ?? "", directory);
    default:
      throw new NodeError("ContainerConfig", `unknown seccomp profile type ${JSON.stringify(source?.type)}`);
  }
}

async function localProfile(name: string, directory: string): Promise<SeccompProfile> {
  if (name === "" || name.startsWith("/") || name.split("/").includes("..")) {
    throw new NodeError(
      "ContainerConfig",
      `the seccomp profile ${JSON.stringify(name)} must be a path below ${directory}`,
    );
  }
  try {
    return { kind: "custom", name, text: await readFile(join(directory, name), "utf8") };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new NodeError(
      "ContainerConfig",
      `cannot load seccomp profile ${JSON.stringify(join(directory, name))}: ${code ?? String(error)}; put the profile there`,
      { cause: error },
    );
  }
}
