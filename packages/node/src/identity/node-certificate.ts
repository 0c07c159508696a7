/** The certificate by which a node is itself, and its key: in one file that only its owner may read. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { pemBlocks, type Subject } from "@keelson/pki";

export interface NodeCertificate {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export function nodeSubject(nodeName: string): Subject {
  return { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] };
}

/** Undefined for one that is not the node's, or does not belong to the key. */
export function nodeCertificate(
  certificate: string,
  key: string,
  nodeName: string,
): NodeCertificate | undefined {
  const { commonName, organizations = [] } = nodeSubject(nodeName);
  const wanted = [...organizations.map((name) => `O=${name}`), `CN=${commonName}`].sort().join("\n");
  try {
    const read = new X509Certificate(certificate);
    if (read.subject.split("\n").sort().join("\n") !== wanted) return undefined;
    if (!read.checkPrivateKey(createPrivateKey(key))) return undefined;
    return {
      ...{ certificate, key },
      notBeforeMs: Date.parse(read.validFrom),
      notAfterMs: Date.parse(read.validTo),
    };
  } catch {
    return undefined;
  }
}

/** Undefined when there is none, or what is there cannot be used. */
export function readNodeCertificate(path: string, nodeName: string): NodeCertificate | undefined {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const blocks = [...pemBlocks(text)];
  const certificates = blocks.filter(({ label }) => label === "CERTIFICATE").map((block) => block.text);
  const key = blocks.find(({ label }) => label.endsWith("PRIVATE KEY"))?.text;
  return key === undefined ? undefined : nodeCertificate(certificates.join("\n"), key, nodeName);
}

/** At once: a reader of the file sees the old pair or the new one. */
export function writeNodeCertificate(path: string, { certificate, key }: NodeCertificate): void {
  writePrivate(path, `${certificate.trim()}\n${key.trim()}\n`);
}

export function writePrivate(path: string, text: string): void {
  const made = `${path}.new`;
  writeFileSync(made, text, { mode: 0o600 });
  // One that a killed node left keeps its mode.
  chmodSync(made, 0o600);
  renameSync(made, path);
}
