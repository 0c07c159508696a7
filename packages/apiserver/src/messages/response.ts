/** Answers: bodies with their headers. */
import type { JsonObject, Status } from "@keelson/core";
import type { BodyStream, Pieces, ServerResponse } from "./message.ts";
import type { Negotiated } from "./negotiation.ts";
import { printJson } from "./text-thread.ts";

const protobuf = "application/vnd.kubernetes.protobuf";

/** A value that names its own kind; what has no form in protobuf comes as JSON all the same. */
export async function jsonResponse(
  status: number,
  value: unknown,
  negotiated: Negotiated,
): Promise<ServerResponse> {
  if (negotiated.mediaType === protobuf) {
    const { encodeValue } = await import("../protobuf/encode-value.ts");
    const bytes = encodeValue(value as JsonObject);
    return bytes
      ? bytesResponse(status, bytes, negotiated)
      : jsonResponse(status, value, { ...negotiated, mediaType: "application/json" });
  }
  return bytesResponse(status, Buffer.from(`${JSON.stringify(value)}\n`), negotiated);
}

/** `bytes` is protobuf or else JSON, which is sent as it is unless the client wants YAML or to read it. */
export function bytesResponse(
  status: number,
  bytes: Uint8Array | Pieces,
  negotiated: Negotiated,
): ServerResponse | Promise<ServerResponse> {
  if (negotiated.mediaType === "application/yaml") return printedResponse(status, bytes, "yaml", negotiated);
  const headers = { "content-type": negotiated.mediaType };
  if (negotiated.mediaType === protobuf) return { status, headers, body: bytes };
  return negotiated.pretty
    ? printedResponse(status, bytes, "indented json", negotiated)
    : { status, headers, body: bytes };
}

/** JSON that is text already. */
export function lineResponse(status: number, body: string): ServerResponse {
  return { status, headers: { "content-type": "application/json" }, body };
}

async function printedResponse(
  status: number,
  bytes: Uint8Array | Pieces,
  as: "yaml" | "indented json",
  { user = "" }: Negotiated,
): Promise<ServerResponse> {
  const body = await printJson(bytes instanceof Uint8Array ? bytes : Buffer.concat(bytes), as, user);
  const type = as === "yaml" ? "application/yaml" : "application/json";
  return { status, headers: { "content-type": type }, body };
}

export async function statusResponse(
  status: Status & { code: number },
  negotiated: Negotiated,
): Promise<ServerResponse> {
  const { reason, ...rest } = status;
  const body = reason ? { ...rest, reason } : rest;
  const response = await jsonResponse(status.code, inOrder(body), negotiated);
  const retry = status.details?.retryAfterSeconds;
  if (retry) response.headers["retry-after"] = String(retry);
  return response;
}

/** Keys in the order in which the real server writes them. */
function inOrder(status: Status): JsonObject {
  const out: JsonObject = {};
  for (const key of [
    "kind",
    "apiVersion",
    "metadata",
    "status",
    "message",
    "reason",
    "details",
    "code",
  ] as const) {
    const value = status[key];
    if (value !== undefined) out[key] = value as JsonObject;
  }
  return out;
}

export function streamResponse(body: BodyStream, contentType: string): ServerResponse {
  return { status: 200, headers: { "content-type": contentType }, body };
}

export function textResponse(status: number, text: string): ServerResponse {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    body: text,
  };
}
