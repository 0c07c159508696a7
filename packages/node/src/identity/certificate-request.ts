/** How a node asks the cluster for a client certificate, and waits until it is approved and signed. */
import { createHash, createPublicKey } from "node:crypto";
import { type Client, isAlreadyExists } from "@keelson/client";
import type { Clock, Stored } from "@keelson/core";
import { CertificateSigningRequest } from "@keelson/core/kinds";
import { createCertificateRequest } from "@keelson/pki";
import { NodeError } from "../errors.ts";
import { type NodeCertificate, nodeCertificate, nodeSubject } from "./node-certificate.ts";

const signerName = "kubernetes.io/kube-apiserver-client-kubelet";
/** As long as a kubelet waits. */
const patienceMs = 15 * 60_000;
/** From then on a person may have to do something. */
const tellAfterMs = 5_000;

export interface RequestOptions {
  readonly client: Client;
  readonly nodeName: string;
  /** PEM. The same key again is the same request. */
  readonly key: string;
  readonly clock: Clock;
  readonly log: (message: string) => void;
  readonly signal: AbortSignal;
}

/** Throws `IdentityRefused` when the request is denied, fails, or nobody grants it in a quarter of an hour. */
export async function requestCertificate(options: RequestOptions): Promise<NodeCertificate> {
  const { client, nodeName, key, clock, log } = options;
  const requests = client.kind(CertificateSigningRequest);
  const name = requestName(key, nodeName);
  const pem = createCertificateRequest(key, nodeSubject(nodeName));
  try {
    await requests.create({
      metadata: { name },
      spec: {
        request: Buffer.from(pem).toString("base64"),
        signerName,
        usages: ["digital signature", "client auth"],
      },
    });
  } catch (error) {
    // Ours, from before: nobody else can know the key that it is named after.
    if (!isAlreadyExists(error)) throw error;
  }
  const patience = new AbortController();
  const cancels = [
    clock.timer(patienceMs, () => patience.abort()),
    clock.timer(tellAfterMs, () =>
      log(
        `node ${nodeName} waits for certificate request ${name} to be granted: kubectl certificate approve ${name}`,
      ),
    ),
  ];
  try {
    const signal = AbortSignal.any([options.signal, patience.signal]);
    for await (const event of requests.reflect({ fields: `metadata.name=${name}`, signal })) {
      if (event.type === "deleted") throw refused(name, "it was deleted");
      if (!("object" in event)) continue;
      const certificate = grantedBy(event.object);
      if (certificate === undefined) continue;
      const granted = nodeCertificate(certificate, key, nodeName);
      if (granted === undefined) throw refused(name, "it was granted for another user or another key");
      return granted;
    }
  } catch (error) {
    if (!patience.signal.aborted) throw error;
  } finally {
    for (const cancel of cancels) cancel();
  }
  options.signal.throwIfAborted();
  throw refused(name, "nobody granted it in a quarter of an hour");
}

/** One key makes one request, however often the node starts before it is granted. */
function requestName(key: string, nodeName: string): string {
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" });
  const digest = createHash("sha256").update(publicKey).update(nodeName).digest("hex");
  return `node-csr-${digest.slice(0, 43)}`;
}

/** PEM, once it is there. */
function grantedBy({ metadata, status }: Stored<CertificateSigningRequest>): string | undefined {
  for (const { type, reason, message } of status?.conditions ?? []) {
    if (type === "Approved") continue;
    throw refused(metadata.name, [type, reason, message].filter(Boolean).join(": "));
  }
  return status?.certificate === undefined
    ? undefined
    : Buffer.from(status.certificate, "base64").toString("utf8");
}

function refused(name: string, why: string): NodeError {
  return new NodeError("IdentityRefused", `the node's certificate request ${name} is not granted: ${why}`);
}
