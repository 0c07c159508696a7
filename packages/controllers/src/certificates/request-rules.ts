/** Which certificate requests are what they claim to be. Pure. */

import { isIP } from "node:net";
import type { ObjectOf } from "@keelson/core";
import type { CertificateSigningRequest } from "@keelson/core/kinds";
import type { CertificateRequest } from "@keelson/pki";

export type RequestObject = ObjectOf<typeof CertificateSigningRequest>;

export const signers = {
  client: "kubernetes.io/kube-apiserver-client",
  kubeletClient: "kubernetes.io/kube-apiserver-client-kubelet",
  kubeletServing: "kubernetes.io/kubelet-serving",
  legacy: "kubernetes.io/legacy-unknown",
} as const;

const signature = "digital signature";
const encipherment = "key encipherment";
const clientAuth = "client auth";
const serverAuth = "server auth";

function usagesAre(usages: readonly string[], auth: string): string | undefined {
  const has = new Set(usages);
  const isExact = has.has(signature) && has.has(auth) && has.size === (has.has(encipherment) ? 3 : 2);
  return isExact ? undefined : `usages did not match [${[auth, signature, encipherment].sort().join(" ")}]`;
}

function nodeSubject({ subject }: CertificateRequest): string | undefined {
  const { organizations = [] } = subject;
  return organizations.length === 1 && organizations[0] === "system:nodes"
    ? undefined
    : "subject organization is not system:nodes";
}

function nodeName({ subject }: CertificateRequest): string | undefined {
  return subject.commonName.startsWith("system:node:")
    ? undefined
    : "subject common name does not begin with system:node:";
}

/** Undefined when the request fits its signer, otherwise why it does not. */
export function mismatch(
  signer: string,
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  switch (signer) {
    case signers.client: {
      const odd = usages.find((usage) => ![signature, encipherment, clientAuth].includes(usage));
      if (odd !== undefined) return `invalid usage for client certificate: ${odd}`;
      return usages.includes(clientAuth)
        ? undefined
        : `missing required usage for client certificate: ${clientAuth}`;
    }
    case signers.kubeletClient: {
      const isName = request.names.some((name) => isIP(name) === 0);
      if (nodeSubject(request)) return nodeSubject(request);
      if (request.names.length > 0) {
        return isName ? "DNS subjectAltNames are not allowed" : "IP subjectAltNames are not allowed";
      }
      return nodeName(request) ?? usagesAre(usages, clientAuth);
    }
    case signers.kubeletServing:
      if (nodeSubject(request)) return nodeSubject(request);
      if (request.names.length === 0) return "DNS or IP subjectAltName is required";
      return usagesAre(usages, serverAuth) ?? nodeName(request);
    default:
      return undefined;
  }
}

export function isKnownSigner(signer: string): boolean {
  return Object.values<string>(signers).includes(signer);
}

export function hasCondition({ status }: RequestObject, type: "Approved" | "Denied" | "Failed"): boolean {
  return (status?.conditions ?? []).some(
    (condition) => condition.type === type && condition.status === "True",
  );
}

/** The request itself, in PEM. */
export function pemOf({ spec }: RequestObject): string {
  return Buffer.from(spec.request, "base64").toString("utf8");
}
