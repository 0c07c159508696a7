/** AWS Signature Version 4, with which S3-compatible services authenticate requests. */
import { createHash, createHmac } from "node:crypto";

/** Keys of an S3-compatible service. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** What of a request is signed. */
export interface UnsignedRequest {
  readonly method: string;
  readonly host: string;
  /** Encoded as it is sent: see `encodePath`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hexadecimal. */
  readonly bodyHash: string;
}

/** Who signs, for which region, and when. */
export interface SigningScope {
  readonly region: string;
  readonly credentials: Credentials;
  readonly nowMs: number;
}

/** The hash of an empty body. */
export const emptyHash = createHash("sha256").digest("hex");

/** All headers to send, with the signature among them. */
export function signed(request: UnsignedRequest, scope: SigningScope): Record<string, string> {
  const { region, credentials, nowMs } = scope;
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const headers: Record<string, string> = {
    ...Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    host: request.host,
    "x-amz-content-sha256": request.bodyHash,
    "x-amz-date": time,
    ...(credentials.sessionToken === undefined ? {} : { "x-amz-security-token": credentials.sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    request.method,
    request.path,
    encodeQuery(request.query),
    ...names.map((name) => `${name}:${(headers[name] as string).trim().replace(/\s+/g, " ")}`),
    "",
    names.join(";"),
    request.bodyHash,
  ].join("\n");
  const day = time.slice(0, 8);
  const credentialScope = `${day}/${region}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", time, credentialScope, sha256(canonical)].join("\n");
  const key = [day, region, "s3", "aws4_request"].reduce<Buffer | string>(
    (secret, part) => hmac(secret, part),
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = createHmac("sha256", key).update(text).digest("hex");
  headers["authorization"] =
    `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${credentialScope},` +
    `SignedHeaders=${names.join(";")},Signature=${signature}`;
  return headers;
}

/** Encodes everything but unreserved characters, which is more than `encodeURIComponent` encodes. */
export function encodePart(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Encodes a path, and keeps its slashes. */
export function encodePath(path: string): string {
  return path.split("/").map(encodePart).join("/");
}

/** Encodes a query in the order in which it is signed. */
export function encodeQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`)
    .sort()
    .join("&");
}

/** SHA-256 in hexadecimal. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
