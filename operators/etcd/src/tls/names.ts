/** How the Secrets with certificates are called. */
import type { Spec } from "../api/cluster.ts";

type Tls = NonNullable<NonNullable<Spec["tls"]>["client"]>;

/** Authority, certificate and key for clients of the cluster, the operator and its agents among them. */
export function clientSecretName(cluster: string, tls: Tls): string {
  return tls.mode === "Secret" && tls.secretName ? tls.secretName : `${cluster}-client-tls`;
}
