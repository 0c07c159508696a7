/** Names of certificate signers and of the trust bundles that belong to them. */
import { validateDns1123Label, validateDns1123Subdomain } from "@keelson/core";
import type { Errors } from "../checks/errors.ts";

export function checkSignerName(path: string, name: string, errors: Errors): void {
  if (!name) {
    errors.required(path);
    return;
  }
  const [domain = "", rest = "", ...more] = name.split("/");
  if (more.length > 0 || !name.includes("/")) {
    errors.invalid(
      path,
      name,
      "must be a fully qualified domain and path of the form 'example.com/signer-name'",
    );
    return;
  }
  if (domain.length > 253) errors.tooLong(path, 253);
  const labels = domain.split(".");
  checkParts(path, domain, labels, validateDns1123Label, errors);
  if (labels.length < 2)
    errors.invalid(path, domain, "should be a domain with at least two segments separated by dots");
  checkParts(path, rest, rest.split("."), validateDns1123Subdomain, errors);
  if (name.length > 571) errors.tooLong(path, 571);
}

function checkParts(
  path: string,
  whole: string,
  parts: readonly string[],
  rule: (part: string) => string[],
  errors: Errors,
): void {
  for (const part of parts) {
    const problems = rule(part);
    errors.messages(
      path,
      whole,
      problems.map((problem) => `validating label ${JSON.stringify(part)}: ${problem}`),
    );
    if (problems.length > 0) return;
  }
}

/** A bundle of a signer is named after it: `example.com:signer:name`. */
export function trustBundleName(name: string, signer: string): string[] {
  if (signer === "") {
    if (name.includes(":")) return ['ClusterTrustBundle without signer name must not have ":" in its name'];
    return validateDns1123Subdomain(name);
  }
  const prefix = `${signer.replaceAll("/", ":")}:`;
  if (!name.startsWith(prefix))
    return [`ClusterTrustBundle for signerName ${signer} must be named with prefix ${prefix}`];
  return validateDns1123Subdomain(name.slice(prefix.length));
}

export function signerOfTrustBundle(name: string): string {
  const colon = name.lastIndexOf(":");
  return colon < 0 ? "" : name.slice(0, colon).replaceAll(":", "/");
}
