/** Rules of CertificateSigningRequest: who asked is the server's to say, and approvals only grow. */
import { X509Certificate } from "node:crypto";
import { deepEqual } from "@keelson/core";
import type { CertificateSigningRequest } from "@keelson/core/kinds";
import { pemBlocks } from "@keelson/pki";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy, StrategyContext } from "../../contracts/strategy.ts";
import type { Errors } from "../checks/errors.ts";
import { checking, checkingUpdate } from "../checks/strategies.ts";
import { checkSignerName } from "../core/signer-names.ts";
import { parseSigningRequest } from "./signing-request.ts";

type Condition = NonNullable<NonNullable<CertificateSigningRequest["status"]>["conditions"]>[number];

const legacySigner = "kubernetes.io/legacy-unknown";

const knownUsages = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
] as const;

const conditionsOf = (request: CertificateSigningRequest | undefined): readonly Condition[] =>
  request?.status?.conditions ?? [];
const ofType = (request: CertificateSigningRequest, type: string): Condition[] =>
  conditionsOf(request).filter((condition) => condition.type === type);

function check(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest | undefined,
  errors: Errors,
): void {
  const { spec } = request;
  const parsed = parseSigningRequest(spec?.request);
  if ("problem" in parsed) errors.invalid("spec.request", spec?.request ?? null, parsed.problem);
  checkUsages(spec?.usages ?? [], old?.spec?.usages ?? [], errors);
  const signer = spec?.signerName ?? "";
  if (signer === legacySigner && old?.spec?.signerName !== legacySigner)
    errors.invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version");
  else checkSignerName("spec.signerName", signer, errors);
  const { expirationSeconds } = spec ?? {};
  if (expirationSeconds !== undefined && expirationSeconds < 600)
    errors.invalid(
      "spec.expirationSeconds",
      expirationSeconds,
      "may not specify a duration less than 600 seconds (10 minutes)",
    );
  checkConditions(request, old, errors);
  const { certificate = "" } = request.status ?? {};
  const before = old?.status?.certificate ?? "";
  if ((!old || certificate !== before) && certificateProblem(before) === undefined) {
    const problem = certificateProblem(certificate);
    if (problem) errors.invalid("status.certificate", "<certificate data>", problem);
  }
}

function checkUsages(usages: readonly string[], old: readonly string[], errors: Errors): void {
  if (usages.length === 0) errors.required("spec.usages");
  const known = new Set<string>(knownUsages);
  if (old.every((usage) => known.has(usage)))
    for (const [i, usage] of usages.entries())
      if (!known.has(usage)) errors.notSupported(`spec.usages[${i}]`, usage, knownUsages);
  if (new Set(old).size !== old.length) return;
  const seen = new Set<string>();
  for (const [i, usage] of usages.entries()) {
    if (seen.has(usage)) errors.duplicate(`spec.usages[${i}]`, usage);
    seen.add(usage);
  }
}

const onlyTrue = new Set(["Approved", "Denied", "Failed"]);
const statuses = ["False", "True", "Unknown"] as const;

function checkConditions(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest | undefined,
  errors: Errors,
): void {
  const path = "status.conditions";
  const before = conditionsOf(old).map((condition) => condition.type);
  const both = before.includes("Approved") && before.includes("Denied");
  const repeats = new Set(before).size !== before.length;
  const seen = new Set<string>();
  for (const [i, { type, status }] of conditionsOf(request).entries()) {
    if (!type && !before.includes("")) errors.required(`${path}[${i}].type`);
    const allowed: readonly string[] = onlyTrue.has(type) ? ["True"] : statuses;
    if (!status) errors.required(`${path}[${i}].status`);
    else if (!allowed.includes(status)) errors.notSupported(`${path}[${i}].status`, status, allowed);
    const opposite = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (!both && opposite && seen.has(opposite))
      errors.invalid(path, type, "Approved and Denied conditions are mutually exclusive");
    if (!repeats && seen.has(type)) errors.duplicate(`${path}[${i}].type`, type);
    seen.add(type);
  }
}

function certificateProblem(base64: string): string | undefined {
  if (base64 === "") return undefined;
  const text = Buffer.from(base64, "base64").toString("latin1");
  let found = false;
  for (const { label, content, text: block } of pemBlocks(text)) {
    if (label !== "CERTIFICATE")
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(label)}`;
    if (content.includes(":")) return "no PEM block headers are permitted";
    try {
      new X509Certificate(block);
    } catch {
      return "x509: malformed certificate";
    }
    found = true;
  }
  return found ? undefined : "must contain at least one CERTIFICATE PEM block";
}

interface Allowances {
  readonly approval?: boolean;
  readonly certificate?: boolean;
}

function checkUpdate({ approval, certificate }: Allowances) {
  return checkingUpdate<CertificateSigningRequest>((request, old, errors) => {
    check(request, old, errors);
    const path = "status.conditions";
    for (const type of ["Approved", "Denied", "Failed"])
      if (ofType(request, type).length < ofType(old, type).length)
        errors.forbidden(path, `updates may not remove a condition of type ${JSON.stringify(type)}`);
    if (!approval)
      for (const type of ["Approved", "Denied"]) {
        const now = ofType(request, type);
        const before = ofType(old, type);
        if (now.length > before.length)
          errors.forbidden(path, `updates may not add a condition of type ${JSON.stringify(type)}`);
        else if (now.length === before.length && !deepEqual(now, before))
          errors.forbidden(path, `updates may not modify a condition of type ${JSON.stringify(type)}`);
      }
    const before = old.status?.certificate ?? "";
    if ((request.status?.certificate ?? "") === before) return;
    if (!certificate) errors.forbidden("status.certificate", "updates may not set certificate content");
    else if (before !== "")
      errors.forbidden("status.certificate", "updates may not modify existing certificate content");
  });
}

/** A condition without times gets them, keeping the transition's while its status is as it was. */
function stamp(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  context: StrategyContext,
): Condition[] | undefined {
  const now = new Date(context.clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
  return request.status?.conditions?.map((condition) => ({
    ...condition,
    lastUpdateTime: condition.lastUpdateTime ?? now,
    lastTransitionTime:
      condition.lastTransitionTime ??
      conditionsOf(old).find(
        ({ type, status, lastTransitionTime }) =>
          type === condition.type && status === condition.status && lastTransitionTime,
      )?.lastTransitionTime ??
      now,
  }));
}

/** Keeps the old instances of a type, unless some were added or removed. */
function preserve(conditions: Condition[], old: CertificateSigningRequest, type: string): Condition[] {
  const before = ofType(old, type);
  if (conditions.filter((condition) => condition.type === type).length !== before.length) return conditions;
  let next = 0;
  return conditions.map((condition) => (condition.type === type ? (before[next++] as Condition) : condition));
}

const typed = (object: ApiObject): CertificateSigningRequest =>
  object as unknown as CertificateSigningRequest;

export const certificateSigningRequests: Strategy = {
  prepareForCreate(draft, { user }) {
    const request = typed(draft);
    request.spec = {
      ...request.spec,
      username: user.name,
      uid: user.uid,
      groups: user.groups.length > 0 ? [...user.groups] : undefined,
      extra:
        user.extra && Object.keys(user.extra).length > 0
          ? Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]))
          : undefined,
    };
    for (const key of ["username", "uid", "groups", "extra"] as const)
      if (!request.spec[key]) delete request.spec[key];
    draft.status = {};
  },
  prepareForUpdate(draft, old) {
    if (old.spec) draft.spec = old.spec;
  },
  validate: checking<CertificateSigningRequest>((request, errors) => check(request, undefined, errors)),
  validateUpdate: checkUpdate({}),
  subresources: {
    status: {
      prepareForUpdate(draft, old, context) {
        const request = typed(draft);
        const before = typed(old);
        if (old.spec) draft.spec = old.spec;
        if (!request.status?.conditions) return;
        request.status.conditions = preserve(request.status.conditions, before, "Approved");
        request.status.conditions = preserve(request.status.conditions, before, "Denied");
        const conditions = stamp(request, before, context);
        if (conditions) request.status.conditions = conditions;
      },
      validateUpdate: checkUpdate({ certificate: true }),
    },
    approval: {
      prepareForUpdate(draft, old, context) {
        const request = typed(draft);
        const conditions = stamp(request, typed(old), context);
        if (old.spec) draft.spec = old.spec;
        request.status = { ...typed(old).status, conditions };
        if (!conditions) delete request.status.conditions;
      },
      validateUpdate: checkUpdate({ approval: true }),
    },
  },
};
