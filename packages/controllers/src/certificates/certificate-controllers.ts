/** Certificate requests: kubelets' own are approved, approved ones are signed, old ones are removed. */
import { X509Certificate } from "node:crypto";
import { formatTime, parseTime } from "@keelson/core";
import { CertificateSigningRequest, SubjectAccessReview } from "@keelson/core/kinds";
import {
  type CertificateRequest,
  certify,
  type KeyPair,
  PkiError,
  readCertificateRequest,
} from "@keelson/pki";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import { type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { controllerManager, yieldingToOthers } from "../acting/acting.ts";
import {
  hasCondition,
  isKnownSigner,
  mismatch,
  pemOf,
  type RequestObject,
  signers,
} from "./request-rules.ts";

const watches = { requests: watch(CertificateSigningRequest) };

type Context = RawContext<typeof watches>;

function readRequest(request: RequestObject): CertificateRequest | undefined {
  try {
    return readCertificateRequest(pemOf(request));
  } catch (error) {
    if (error instanceof PkiError) return undefined;
    throw error;
  }
}

/** Approves what kubelets ask for themselves, when they may. */
export function certificateApprover(): RawController {
  return rawController({
    name: "certificatesigningrequest-approving-controller",
    fieldManager: controllerManager,
    watches,
    writes: [
      allow(SubjectAccessReview, ["create"]),
      allowSubresource(CertificateSigningRequest, "approval", ["update"]),
    ],
    reconcile: yieldingToOthers(async (name, ctx: Context) => {
      const request = ctx.caches.requests.get(name);
      if (!request || request.status?.certificate || request.spec.signerName !== signers.kubeletClient)
        return;
      if (hasCondition(request, "Approved") || hasCondition(request, "Denied")) return;
      const asked = readRequest(request);
      if (!asked || mismatch(signers.kubeletClient, asked, request.spec.usages ?? [])) return;
      const isSelf = request.spec.username === asked.subject.commonName;
      for (const [subresource, who] of [
        ...(isSelf ? [["selfnodeclient", "self "]] : []),
        ["nodeclient", ""],
      ]) {
        if (!(await mayRequest(ctx, request, subresource ?? ""))) continue;
        await approve(
          ctx,
          request,
          `Auto approving ${who}kubelet client certificate after SubjectAccessReview.`,
        );
        return;
      }
    }),
  });
}

async function mayRequest(ctx: Context, { spec }: RequestObject, subresource: string): Promise<boolean> {
  const { username, uid, groups, extra } = spec;
  const review = await ctx.kind(SubjectAccessReview).create({
    spec: {
      ...(username ? { user: username } : {}),
      ...(uid ? { uid } : {}),
      ...(groups ? { groups } : {}),
      ...(extra ? { extra } : {}),
      resourceAttributes: {
        group: "certificates.k8s.io",
        resource: "certificatesigningrequests",
        version: "*",
        verb: "create",
        subresource,
      },
    },
  });
  return review.status?.allowed === true;
}

async function approve(ctx: Context, request: RequestObject, message: string): Promise<void> {
  const status = withCondition(ctx, request, { type: "Approved", reason: "AutoApproved", message });
  await ctx
    .kind(CertificateSigningRequest)
    .subresource("approval")
    .update({ ...request, status });
}

function withCondition(
  ctx: Context,
  { status }: RequestObject,
  told: { readonly type: string; readonly reason: string; readonly message: string },
) {
  const time = formatTime(ctx.clock.now());
  const condition = { ...told, status: "True", lastUpdateTime: time, lastTransitionTime: time };
  return { ...status, conditions: [...(status?.conditions ?? []), condition] };
}

export interface SignerOptions {
  readonly authority: KeyPair;
  /** How long certificates are good. Default: a year. A request may ask for less. */
  readonly durationMs?: number;
}

const year = 365 * 86_400_000;
/** Clocks differ: a certificate begins a little before it is made. */
const backdateMs = 5 * 60_000;
const shortMs = 8 * 3_600_000;

/** Signs approved requests with the cluster's authority. */
export function certificateSigner({ authority, durationMs = year }: SignerOptions): RawController {
  return rawController({
    name: "certificatesigningrequest-signing-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allowSubresource(CertificateSigningRequest, "status", ["update"])],
    reconcile: yieldingToOthers(async (name, ctx: Context) => {
      const request = ctx.caches.requests.get(name);
      if (!request || request.status?.certificate || !isKnownSigner(request.spec.signerName)) return;
      if (
        !hasCondition(request, "Approved") ||
        hasCondition(request, "Denied") ||
        hasCondition(request, "Failed")
      )
        return;
      const asked = readRequest(request);
      if (!asked) return;
      const { signerName, usages = [], expirationSeconds } = request.spec;
      const problem = mismatch(signerName, asked, usages);
      if (problem !== undefined) {
        await fail(ctx, request, problem);
        return;
      }
      const wanted =
        expirationSeconds === undefined ? durationMs : Math.min(durationMs, expirationSeconds * 1000);
      const certificate = sign(authority, asked, usages, wanted, ctx.clock.now());
      const status = { ...request.status, certificate: Buffer.from(certificate).toString("base64") };
      await ctx
        .kind(CertificateSigningRequest)
        .subresource("status")
        .update({ ...request, status });
    }),
  });
}

function sign(
  authority: KeyPair,
  { subject, names, publicKey }: CertificateRequest,
  usages: readonly string[],
  durationMs: number,
  nowMs: number,
): string {
  const end = nowMs + (durationMs < shortMs ? durationMs : durationMs - backdateMs);
  const authorityEnd = Date.parse(new X509Certificate(authority.certificate).validTo);
  return certify(authority, publicKey, {
    subject,
    names,
    usages: [
      ...(usages.includes("server auth") ? (["server"] as const) : []),
      ...(usages.includes("client auth") ? (["client"] as const) : []),
    ],
    notBeforeMs: nowMs - backdateMs,
    notAfterMs: Math.min(end, authorityEnd),
  });
}

async function fail(ctx: Context, request: RequestObject, message: string): Promise<void> {
  const status = withCondition(ctx, request, { type: "Failed", reason: "SignerValidationFailure", message });
  await ctx
    .kind(CertificateSigningRequest)
    .subresource("status")
    .update({ ...request, status });
}

const answeredMs = 3_600_000;
const pendingMs = 24 * 3_600_000;

/** When a request has served its time: an hour after its answer, a day without one. */
export function expiryMs(request: RequestObject): number {
  const { creationTimestamp } = request.metadata;
  const answers = (request.status?.conditions ?? []).filter(({ type }) => type !== "Pending");
  if (answers.length === 0) return parseTime(creationTimestamp) + pendingMs;
  const times = answers.map(({ lastUpdateTime }) => parseTime(lastUpdateTime ?? creationTimestamp));
  return Math.min(...times) + answeredMs;
}

/** Removes requests that have served their time. */
export function certificateCleaner(): RawController {
  return rawController({
    name: "certificatesigningrequest-cleaner-controller",
    fieldManager: controllerManager,
    watches,
    writes: [allow(CertificateSigningRequest, ["delete"])],
    reconcile: async (name, ctx: Context) => {
      const request = ctx.caches.requests.get(name);
      if (!request) return;
      const left = expiryMs(request) - ctx.clock.now();
      if (left > 0) ctx.recheck(left);
      else await ctx.kind(CertificateSigningRequest).delete({ name }, { uid: request.metadata.uid });
    },
  });
}
