/** Why a webhook could not be asked, in the words of the real server. */
import { parseJson } from "@keelson/core";
import { StatusError } from "../../contracts/status-error.ts";

/** A failure to ask, which a webhook's failure policy may forgive; a refusal is not one. */
export class CallFailure extends Error {
  constructor(hook: string, why: string) {
    super(`failed calling webhook ${JSON.stringify(hook)}: ${why}`);
    this.name = "CallFailure";
  }
}

const untrusted = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

interface SocketError extends Error {
  readonly code?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  readonly cert?: { readonly subjectaltname?: string };
}

/** The error of a request that got no answer. */
export function transportProblem(url: string, error: unknown, timedOut: boolean): string {
  return `Post ${JSON.stringify(url)}: ${timedOut ? "context deadline exceeded" : reasonOf(error, url)}`;
}

function reasonOf(error: unknown, url: string): string {
  if (error instanceof StatusError) return error.message;
  const { code = "", message, address, port, hostname, cert } = error as SocketError;
  if (code === "ECONNREFUSED") return `dial tcp ${address}:${port}: connect: connection refused`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `dial tcp: lookup ${hostname}: no such host`;
  if (code === "ECONNRESET") return "EOF";
  if (untrusted.has(code))
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority";
  if (code === "CERT_HAS_EXPIRED")
    return "tls: failed to verify certificate: x509: certificate has expired or is not yet valid";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const names = (cert?.subjectaltname ?? "").replaceAll("DNS:", "").replaceAll("IP Address:", "");
    return `tls: failed to verify certificate: x509: certificate is valid for ${names}, not ${new URL(url).hostname}`;
  }
  return message;
}

/** What an answer other than 200 says; a Status speaks for itself. */
export function answerProblem(status: number, body: string): string {
  const said = statusMessage(body);
  if (said !== undefined) return said;
  const text = body.trim().slice(0, 2048);
  if (status === 404) return "the server could not find the requested resource";
  if (status === 401) return "the server has asked for the client to provide credentials";
  if (status === 403) return text || "unknown";
  if (status === 405) return "the server does not allow this method on the requested resource";
  if (status === 503) return text || "the server is currently unable to handle the request";
  if (status === 504) return "the server was unable to return a response in the time allotted";
  if (status >= 500)
    return `an error on the server (${JSON.stringify(text || "unknown")}) has prevented the request from succeeding`;
  return `the server responded with the status code ${status} but did not return more information`;
}

function statusMessage(body: string): string | undefined {
  try {
    const parsed = parseJson(body) as { kind?: string; message?: string } | null;
    return parsed?.kind === "Status" ? parsed.message : undefined;
  } catch {
    return undefined;
  }
}
