/** Config maps and secrets. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { deepEqual } from "@keelson/core";
import { byteLength } from "@keelson/core/internal";
import type { ConfigMap, Secret } from "@keelson/core/kinds";
import { type PemBlock, pemBlocks } from "@keelson/pki";
import { JsonSyntaxError, parseJsonBody } from "../../codec/json-body.ts";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy } from "../../contracts/strategy.ts";
import type { Errors } from "../checks/errors.ts";
import { configKey } from "../checks/formats.ts";
import { checkImmutable, checking, checkingUpdate } from "../checks/strategies.ts";

const maxBytes = 1024 * 1024;
const frozen = "field is immutable when `immutable` is set";

/** Bytes of a value in base64, without decoding it. */
function decodedLength(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.floor((base64.length * 3) / 4) - padding;
}

/** How the server spells the path of an object itself. */
const itself = "[]";

function checkConfigMap(map: ConfigMap, errors: Errors): void {
  let total = 0;
  for (const key in map.data) {
    errors.messages(`data[${key}]`, key, configKey(key));
    if (map.binaryData?.[key] !== undefined)
      errors.invalid(`data[${key}]`, key, "duplicate of key present in binaryData");
    total += byteLength(map.data[key] as string);
  }
  for (const key in map.binaryData) {
    errors.messages(`binaryData[${key}]`, key, configKey(key));
    total += decodedLength(map.binaryData[key] as string);
  }
  if (total > maxBytes) errors.tooLong(itself, maxBytes);
}

export const configMaps: Strategy = {
  validate: checking(checkConfigMap),
  validateUpdate: checkingUpdate<ConfigMap>((map, old, errors) => {
    if (old.immutable) {
      if (!map.immutable) errors.forbidden("immutable", frozen);
      if (!deepEqual(map.data, old.data)) errors.forbidden("data", frozen);
      if (!deepEqual(map.binaryData, old.binaryData)) errors.forbidden("binaryData", frozen);
    }
    checkConfigMap(map, errors);
  }),
};

function checkSecret(secret: Secret, errors: Errors): void {
  const data = secret.data ?? {};
  let total = 0;
  for (const key in data) {
    errors.messages(`data[${key}]`, key, configKey(key));
    total += decodedLength(data[key] as string);
  }
  if (total > maxBytes) errors.tooLong("data", maxBytes);
  const needs = (key: string) => {
    if (data[key] === undefined) errors.required(`data[${key}]`);
  };
  switch (secret.type) {
    case "kubernetes.io/service-account-token": {
      const annotation = "kubernetes.io/service-account.name";
      if (!secret.metadata?.annotations?.[annotation]) errors.required(`metadata.annotations[${annotation}]`);
      break;
    }
    case "kubernetes.io/dockercfg":
      checkJson(".dockercfg", data, errors);
      break;
    case "kubernetes.io/dockerconfigjson":
      checkJson(".dockerconfigjson", data, errors);
      break;
    case "kubernetes.io/basic-auth":
      if (data.username === undefined && data.password === undefined) {
        errors.required("data[username]");
        errors.required("data[password]");
      }
      break;
    case "kubernetes.io/ssh-auth":
      if (!data["ssh-privatekey"]) errors.required("data[ssh-privatekey]");
      break;
    case "kubernetes.io/tls":
      needs("tls.crt");
      needs("tls.key");
      break;
    default:
  }
}

function checkJson(key: string, data: Readonly<Record<string, string>>, errors: Errors): void {
  const value = data[key];
  if (value === undefined) {
    errors.required(`data[${key}]`);
    return;
  }
  const refuse = (message: string) => errors.invalid(`data[${key}]`, "<secret contents redacted>", message);
  const text = Buffer.from(value, "base64").toString();
  try {
    const parsed: unknown = parseJsonBody(text).value;
    if (parsed !== null && (typeof parsed !== "object" || Array.isArray(parsed)))
      refuse(`json: cannot unmarshal ${goType(parsed)} into Go value of type map[string]interface {}`);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    refuse(error.message);
  }
}

function goType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

export const secrets: Strategy = {
  validate: checking(checkSecret),
  validateUpdate: checkingUpdate<Secret>((secret, old, errors) => {
    checkImmutable("type", secret.type, old.type, errors);
    if (old.immutable) {
      if (!secret.immutable) errors.forbidden("immutable", frozen);
      if (!deepEqual(secret.data, old.data)) errors.forbidden("data", frozen);
    }
    checkSecret(secret, errors);
  }),
  warningsOnCreate: keyPairWarnings,
  warningsOnUpdate: keyPairWarnings,
};

/** A certificate that does not fit its key is stored, but told. */
function keyPairWarnings(object: ApiObject): string[] {
  const { type, data = {} } = object as unknown as Secret;
  if (type !== "kubernetes.io/tls") return [];
  const problem = keyPairProblem(decoded(data["tls.crt"]), decoded(data["tls.key"]));
  return problem === undefined ? [] : [problem];
}

function keyPairProblem(certificate: string, key: string): string | undefined {
  const certificates = [...pemBlocks(certificate)];
  const chain = certificates.find(({ label }) => label === "CERTIFICATE");
  if (!chain) return noCertificate(certificates);
  const keys = [...pemBlocks(key)];
  const own = keys.find(({ label }) => label === "PRIVATE KEY" || label.endsWith(" PRIVATE KEY"));
  if (!own) return noKey(keys);
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(chain.text);
  } catch {
    return "x509: malformed certificate";
  }
  try {
    return parsed.checkPrivateKey(createPrivateKey(own.text))
      ? undefined
      : "tls: private key does not match public key";
  } catch {
    return "tls: failed to parse private key";
  }
}

function noCertificate(skipped: readonly PemBlock[]): string {
  if (skipped.length === 0) return "tls: failed to find any PEM data in certificate input";
  if (skipped.length === 1 && skipped[0]?.label.endsWith("PRIVATE KEY"))
    return "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched";
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${labels(skipped)}`;
}

function noKey(skipped: readonly PemBlock[]): string {
  if (skipped.length === 0) return "tls: failed to find any PEM data in key input";
  if (skipped.length === 1 && skipped[0]?.label === "CERTIFICATE")
    return "tls: found a certificate rather than a key in the PEM for the private key";
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: ${labels(skipped)}`;
}

function labels(blocks: readonly PemBlock[]): string {
  return `[${blocks.map(({ label }) => label).join(" ")}]`;
}

function decoded(base64: string | undefined): string {
  return Buffer.from(base64 ?? "", "base64").toString("latin1");
}
