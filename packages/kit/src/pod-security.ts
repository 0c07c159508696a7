/** Security contexts of the restricted pod security profile. */
import type { InputOf } from "@keelson/core";
import type { Pod } from "@keelson/core/kinds";

type PodSpec = NonNullable<InputOf<typeof Pod>["spec"]>;
type PodSecurity = NonNullable<PodSpec["securityContext"]>;
type ContainerSecurity = NonNullable<PodSpec["containers"][number]["securityContext"]>;

/**
 * The security context of a pod that runs as one user, who also owns its volumes. The profile demands a number, because
 * the kubelet does not resolve names. Volumes are changed only when their root has another owner: a large one would
 * delay every start.
 *
 * @example
 * securityContext: restrictedPod(65532) // the user of distroless images
 */
export function restrictedPod(user: number): PodSecurity {
  return { ...restrictedPodWithoutVolumes(user), fsGroup: user, fsGroupChangePolicy: "OnRootMismatch" };
}

/** As {@link restrictedPod}, for a pod that has no volumes to own. */
export function restrictedPodWithoutVolumes(user: number): PodSecurity {
  return {
    runAsNonRoot: true,
    runAsUser: user,
    runAsGroup: user,
    seccompProfile: { type: "RuntimeDefault" },
  };
}

/** The security context of each container: no privileges, and a root file system that cannot be written. */
export const restrictedContainer: ContainerSecurity = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
};
