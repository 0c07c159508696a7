/** Admission of certificate signing requests: who approves, who signs, and what is never signed. */
import { deepEqual } from "@keelson/core";
import type { CertificateSigningRequest } from "@keelson/core/kinds";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";
import type { Authorizer } from "../contracts/authorization.ts";
import { parseSigningRequest } from "../validation/certificates/signing-request.ts";
import { isFor, refused } from "./refusals.ts";

const group = "certificates.k8s.io";
const resource = "certificatesigningrequests";

function isAbout(request: AdmissionRequest, subresource: string): boolean {
  return (
    request.resource.resource === resource &&
    request.resource.group === group &&
    request.subresource === subresource &&
    request.operation === "UPDATE"
  );
}

/** Allowed for the signer by name, or for all signers of its domain. */
async function mayFor(
  authorizer: Authorizer,
  request: AdmissionRequest,
  verb: string,
  signer: string,
): Promise<boolean> {
  for (const name of [signer, `${signer.split("/")[0]}/*`]) {
    const { decision } = await authorizer.authorize({
      user: request.user,
      verb,
      resourceRequest: true,
      group,
      version: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
      path: "",
    });
    if (decision === "allow") return true;
  }
  return false;
}

async function assertMayFor(
  authorizer: Authorizer,
  request: AdmissionRequest,
  verb: "approve" | "sign",
  signer: string,
): Promise<void> {
  if (await mayFor(authorizer, request, verb, signer)) return;
  throw refused(request, `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`);
}

export function certificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateApproval",
    validate(request) {
      if (!isAbout(request, "approval")) return undefined;
      const signer = (request.oldObject as unknown as CertificateSigningRequest).spec?.signerName ?? "";
      return assertMayFor(authorizer, request, "approve", signer);
    },
  };
}

export function certificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateSigning",
    validate(request) {
      if (!isAbout(request, "status")) return undefined;
      const old = request.oldObject as unknown as CertificateSigningRequest;
      const now = request.object as unknown as CertificateSigningRequest;
      if (
        old.status?.certificate === now.status?.certificate &&
        deepEqual(old.status?.conditions ?? [], now.status?.conditions ?? [])
      )
        return undefined;
      return assertMayFor(authorizer, request, "sign", old.spec?.signerName ?? "");
    },
  };
}

const clientSigner = "kubernetes.io/kube-apiserver-client";

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: "CertificateSubjectRestriction",
  validate(request) {
    if (!isFor(request, group, resource) || request.operation !== "CREATE") return;
    const { spec } = request.object as unknown as CertificateSigningRequest;
    if (spec?.signerName !== clientSigner) return;
    const parsed = parseSigningRequest(spec.request);
    if ("problem" in parsed) throw refused(request, `failed to parse CSR: ${parsed.problem}`);
    if (parsed.organizations.includes("system:masters"))
      throw refused(request, `use of ${clientSigner} signer with system:masters group is not allowed`);
  },
};
