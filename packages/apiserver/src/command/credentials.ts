/** Keys and certificates of a server, kept in its directory over restarts. */
import { generateKeyPairSync, randomBytes, randomInt } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAuthority, createLeaf, type KeyPair } from "@keelson/pki";
import { frontProxyUser } from "../authentication/index.ts";

const hourMs = 3_600_000;
const yearMs = 365 * 24 * hourMs;

/** No administrator: where this certificate is shown to somebody else, it must not open more than kubelets. */
const kubeletClientUser = "kube-apiserver-kubelet-client";

const serverNames = [
  "localhost",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  "127.0.0.1",
  "::1",
  "10.0.0.1",
];

export interface Credentials {
  readonly authority: KeyPair;
  readonly serving: KeyPair;
  /** By which kubelets know the server. */
  readonly kubeletClient: KeyPair & { readonly user: string };
  /** By which servers that extend this one know it; an authority of its own signs for nobody else. */
  readonly frontProxy: KeyPair & { readonly authority: string };
  /** Bearer token of the administrator. */
  readonly token: string;
  /** `id.secret`, by which nodes ask for an identity of their own. */
  readonly bootstrapToken: string;
  /** Where the key that signs service account tokens is kept; absent when it lives as long as the server. */
  readonly accountKeyFile?: string;
}

/** In memory when no directory is given. A token that is given is used and not kept. */
export function loadCredentials(
  directory: string | undefined,
  nowMs: number,
  givenToken: string | undefined,
): Credentials {
  const authority =
    stored(directory, "ca") ?? createAuthority("keelson", nowMs - hourMs, nowMs + 10 * yearMs);
  const serving = createLeaf(authority, {
    subject: { commonName: "kube-apiserver" },
    names: serverNames,
    usages: ["server"],
    notBeforeMs: nowMs - hourMs,
    notAfterMs: nowMs + yearMs,
  });
  const kubeletClient = createLeaf(authority, {
    subject: { commonName: kubeletClientUser },
    usages: ["client"],
    notBeforeMs: nowMs - hourMs,
    notAfterMs: nowMs + yearMs,
  });
  const frontAuthority =
    stored(directory, "front-proxy-ca") ??
    createAuthority("keelson front proxy", nowMs - hourMs, nowMs + 10 * yearMs);
  const frontProxy = {
    ...createLeaf(frontAuthority, {
      subject: { commonName: frontProxyUser },
      usages: ["client"],
      notBeforeMs: nowMs - hourMs,
      notAfterMs: nowMs + yearMs,
    }),
    authority: frontAuthority.certificate,
  };
  const randomToken = () => randomBytes(24).toString("base64url");
  const made = {
    ...{ authority, serving, frontProxy },
    kubeletClient: { ...kubeletClient, user: kubeletClientUser },
  };
  if (!directory) return { ...made, token: givenToken ?? randomToken(), bootstrapToken: newBootstrapToken() };
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (!stored(directory, "ca")) {
    keep(join(directory, "ca.key"), authority.key);
    keep(join(directory, "ca.crt"), authority.certificate);
  }
  if (!stored(directory, "front-proxy-ca")) {
    keep(join(directory, "front-proxy-ca.key"), frontAuthority.key);
    keep(join(directory, "front-proxy-ca.crt"), frontAuthority.certificate);
  }
  const accountKeyFile = join(directory, "sa.key");
  kept(accountKeyFile, newAccountKey);
  return {
    ...made,
    token: givenToken ?? kept(join(directory, "token"), randomToken),
    bootstrapToken: kept(join(directory, "bootstrap-token"), newBootstrapToken),
    accountKeyFile,
  };
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";

function newBootstrapToken(): string {
  const random = (length: number) =>
    Array.from({ length }, () => letters[randomInt(letters.length)]).join("");
  return `${random(6)}.${random(16)}`;
}

function newAccountKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return String(privateKey.export({ type: "pkcs8", format: "pem" }));
}

/** What the file holds, which is made when it is not there. */
function kept(path: string, make: () => string): string {
  if (!existsSync(path)) keep(path, make());
  return readFileSync(path, "utf8");
}

/** Whole or not at all: half an authority would keep the server from starting ever again. */
function keep(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text, { mode: 0o600, flush: true });
  renameSync(`${path}.tmp`, path);
}

function stored(directory: string | undefined, name: string): KeyPair | undefined {
  if (!directory) return undefined;
  const [certificate, key] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)];
  if (!existsSync(certificate) || !existsSync(key)) return undefined;
  return { certificate: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") };
}
