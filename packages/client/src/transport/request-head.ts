/** The head of an HTTP/1.1 request, as it goes over the wire. */
import type { HttpHeaders, HttpRequest } from "@keelson/core";
import { ClientError } from "../errors.ts";
import type { ServerAddress } from "./server-address.ts";

/** What a line of a head may hold. */
const allowed = /^[\t\x20-\x7e\x80-\xff]*$/;

const firstLine = /^[\x21-\x7e]+ [\x21-\x7e\x80-\x9f\xa1-\xff]+ HTTP\/1\.1$/;

/** The whole head: what is the request's own, between lines that others share. */
export function requestHead(
  server: ServerAddress,
  { method, path, body }: HttpRequest,
  lines: string,
): string {
  const first = `${method} ${server.prefix}${path} HTTP/1.1`;
  if (!firstLine.test(first)) throw unfit("the path");
  if (body === undefined) return `${first}\r\n${lines}\r\n`;
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
  return `${first}\r\n${lines}content-length: ${length}\r\n\r\n`;
}

/** The lines that are the same for all requests with these headers. */
export function headerLines(server: ServerAddress, headers: HttpHeaders, lasts: boolean): string {
  let head = `host: ${hostOf(server)}\r\n`;
  if (!lasts) head += "connection: close\r\n";
  // Names and values without what stands between them: one look at all of it costs less than one at each.
  let said = "";
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined) continue;
    for (const each of typeof value === "string" ? [value] : value) {
      said += name + each;
      head += `${name}: ${each}\r\n`;
    }
  }
  if (!allowed.test(said)) throw unfit(unfitHeader(headers));
  return head;
}

function unfitHeader(headers: HttpHeaders): string {
  const isFit = (text: string) => allowed.test(text);
  const found = Object.entries(headers).find(([name, value]) => ![name, value ?? ""].flat().every(isFit));
  return found?.[0] ?? "a header";
}

function hostOf({ host, port, secure }: ServerAddress): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return port === (secure ? 443 : 80) ? name : `${name}:${port}`;
}

function unfit(name: string): ClientError {
  return new ClientError("InvalidRequest", `cannot send ${name}: it has characters that HTTP does not allow`);
}
