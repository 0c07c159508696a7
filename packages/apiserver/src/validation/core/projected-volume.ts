/** Projected volumes: several sources in one directory. */
import { validateAnnotationKey } from "@keelson/core";
import type { KeyToPath, ProjectedVolumeSource, VolumeProjection } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { checkSelector } from "../checks/selectors.ts";
import { checkFileInVolume } from "./paths.ts";
import { checkSignerName, signerOfTrustBundle, trustBundleName } from "./signer-names.ts";
import { checkDownwardFile, checkKeyToPath, checkMode, type VolumeRules } from "./volume-files.ts";

const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

export function checkProjected(
  path: string,
  projected: ProjectedVolumeSource,
  rules: VolumeRules,
  errors: Errors,
): void {
  checkMode(`${path}.defaultMode`, projected.defaultMode, errors);
  const taken = new Set<string>();
  const take = (file: string, shown: string) => {
    if (taken.has(file)) errors.invalid(path, shown, "conflicting duplicate paths");
    taken.add(file);
  };
  const takeItems = (at: string, items: readonly KeyToPath[] | undefined, name: string) => {
    for (const [i, item] of (items ?? []).entries()) {
      checkKeyToPath(`${at}.items[${i}]`, item, errors);
      if (item.path) take(item.path, name);
    }
  };
  for (const [i, source] of (projected.sources ?? []).entries()) {
    const at = `${path}.sources[${i}]`;
    for (const field of ["secret", "configMap"] as const) {
      const keyed = source[field];
      if (!keyed) continue;
      if (!keyed.name) errors.required(`${at}.${field}.name`);
      takeItems(`${at}.${field}`, keyed.items, keyed.name ?? "");
    }
    for (const file of source.downwardAPI?.items ?? []) {
      checkDownwardFile(`${at}.downwardAPI`, file, errors);
      if (file.path) take(file.path, file.path);
    }
    const token = source.serviceAccountToken;
    if (token) {
      const seconds = token.expirationSeconds ?? 0;
      const field = `${at}.serviceAccountToken.expirationSeconds`;
      if (seconds < 600) errors.invalid(field, seconds, "may not specify a duration less than 10 minutes");
      if (seconds > 2 ** 32)
        errors.invalid(field, seconds, "may not specify a duration larger than 2^32 seconds");
      if (!token.path) errors.required(`${path}.path`);
      else if (!rules.allowNonLocalTokenPath) checkFileInVolume(`${path}.path`, token.path, errors);
    }
    if (source.clusterTrustBundle)
      checkTrustBundle(`${at}.clusterTrustBundle`, source.clusterTrustBundle, take, errors);
    if (source.podCertificate)
      checkPodCertificate(`${at}.podCertificate`, source.podCertificate, take, errors);
    if (Object.keys(source).length > 1)
      errors.forbidden(at, "may not specify more than 1 volume type per source");
  }
}

type Take = (file: string, shown: string) => void;

function checkTrustBundle(
  path: string,
  bundle: NonNullable<VolumeProjection["clusterTrustBundle"]>,
  take: Take,
  errors: Errors,
): void {
  const { name, signerName } = bundle;
  if (name !== undefined && signerName !== undefined)
    errors.invalid(path, bundle, "only one of name and signerName may be used");
  else if (name !== undefined) {
    if (name === "") errors.required(`${path}.name`, "must be a valid object name");
    for (const problem of trustBundleName(name, signerOfTrustBundle(name)))
      errors.invalid(`${path}.name`, name, `not a valid clustertrustbundlename: ${problem}`);
    if (bundle.labelSelector)
      errors.invalid(
        `${path}.labelSelector`,
        bundle.labelSelector,
        "labelSelector must be unset if name is specified",
      );
  } else if (signerName !== undefined) {
    if (signerName === "") errors.required(`${path}.signerName`, "must be a valid signer name");
    checkSignerName(`${path}.signerName`, signerName, errors);
    checkSelector(`${path}.labelSelector`, bundle.labelSelector, errors);
  } else errors.required(path, "either name or signerName must be specified");
  if (!bundle.path) errors.required(`${path}.path`);
  checkFileInVolume(`${path}.path`, bundle.path, errors);
  take(bundle.path, bundle.path);
}

function checkPodCertificate(
  path: string,
  certificate: NonNullable<VolumeProjection["podCertificate"]>,
  take: Take,
  errors: Errors,
): void {
  const signer = certificate.signerName ?? "";
  checkSignerName(`${path}.signerName`, signer, errors);
  for (const key in certificate.userAnnotations) {
    const problems = validateAnnotationKey(key);
    errors.messages(`${path}.userAnnotations`, key.toLowerCase(), problems);
    if (problems.length === 0 && !key.includes("/"))
      errors.invalid(
        `${path}.userAnnotations`,
        key.toLowerCase(),
        'must be a domain-prefixed key (such as "acme.io/foo")',
      );
  }
  if (!keyTypes.includes(certificate.keyType ?? ""))
    errors.notSupported(`${path}.keyType`, certificate.keyType ?? "", keyTypes);
  const seconds = certificate.maxExpirationSeconds;
  if (seconds !== undefined) {
    const max = /(^|\.)kubernetes\.io\//.test(signer) ? 86_400 : 91 * 86_400;
    const at = `${path}.maxExpirationSeconds`;
    if (seconds < 3600) errors.invalid(at, seconds, "if provided, maxExpirationSeconds must be >= 3600");
    if (seconds > max) errors.invalid(at, seconds, `if provided, maxExpirationSeconds must be <= ${max}`);
  }
  let files = 0;
  for (const field of ["credentialBundlePath", "keyPath", "certificateChainPath"] as const) {
    const file = certificate[field];
    if (!file) continue;
    files++;
    checkFileInVolume(`${path}.${field}`, file, errors);
    take(file, file);
  }
  if (files === 0)
    errors.required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
}
