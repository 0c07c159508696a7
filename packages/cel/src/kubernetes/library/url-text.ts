/** URLs as Go's net/url reads them, which is laxer and stricter than the WHATWG standard in turn. */
import { goQuote } from "@keelson/core/internal";
import { parseAddress } from "./ip-address.ts";

export interface ParsedUrl {
  readonly scheme: string;
  readonly opaque: string;
  /** Undefined when there is no `user@`. */
  readonly user: string | undefined;
  readonly host: string;
  /** Still escaped, as written. */
  readonly rawPath: string;
  readonly query: string;
  readonly forceQuery: boolean;
  readonly omitHost: boolean;
  readonly fragment: string;
}

/** What is wrong with a URL, in Go's words. */
export class UrlError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

const controlByte = /[^\P{Cc}\u0080-\u009f]/u;

/** An absolute URL or path, as HTTP requests and the `uri` format take it. */
export function checkRequestUri(text: string): UrlError | undefined {
  const parsed = parseParts(text, true);
  return parsed instanceof UrlError ? new UrlError(`parse ${goQuote(text)}: ${parsed.message}`) : undefined;
}

/** Like a request URI, with its fragment told apart. */
export function parseUrl(text: string): ParsedUrl | UrlError {
  const refused = checkRequestUri(text);
  if (refused !== undefined) return refused;
  const hash = text.indexOf("#");
  const [base, fragment] = hash < 0 ? [text, ""] : [text.slice(0, hash), text.slice(hash + 1)];
  const parsed = parseParts(base, false);
  if (parsed instanceof UrlError) return new UrlError(`parse ${goQuote(base)}: ${parsed.message}`);
  const bad = badEscape(fragment);
  return bad === undefined ? { ...parsed, fragment } : new UrlError(`parse ${goQuote(text)}: ${bad.message}`);
}

function parseParts(text: string, viaRequest: boolean): ParsedUrl | UrlError {
  if (controlByte.test(text)) return new UrlError("net/url: invalid control character in URL");
  if (text === "" && viaRequest) return new UrlError("empty url");
  const empty: ParsedUrl = {
    scheme: "",
    opaque: "",
    user: undefined,
    host: "",
    rawPath: "",
    query: "",
    forceQuery: false,
    omitHost: false,
    fragment: "",
  };
  if (text === "*") return { ...empty, rawPath: "*" };
  if (text.startsWith(":")) return new UrlError("missing protocol scheme");
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text);
  const scheme = match?.[1]?.toLowerCase() ?? "";
  let rest = match === null ? text : text.slice(match[0].length);
  const question = rest.indexOf("?");
  const forceQuery = question >= 0 && question === rest.length - 1;
  const query = question < 0 ? "" : rest.slice(question + 1);
  if (question >= 0) rest = rest.slice(0, question);
  const parts = { ...empty, scheme, query, forceQuery };
  if (!rest.startsWith("/")) {
    if (scheme !== "") return { ...parts, opaque: rest };
    if (viaRequest) return new UrlError("invalid URI for request");
    if (rest.split("/", 1)[0]?.includes(":")) {
      return new UrlError("first path segment in URL cannot contain colon");
    }
  }
  const hasAuthority = scheme !== "" || (!viaRequest && !rest.startsWith("///"));
  if (!hasAuthority || !rest.startsWith("//")) {
    const bad = badEscape(rest);
    return bad ?? { ...parts, rawPath: rest, omitHost: scheme !== "" && rest.startsWith("/") };
  }
  const slash = rest.indexOf("/", 2);
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
  const rawPath = slash < 0 ? "" : rest.slice(slash);
  const at = authority.lastIndexOf("@");
  const host = parseHost(scheme, authority.slice(at + 1));
  if (host instanceof UrlError) return host;
  const user = at < 0 ? undefined : authority.slice(0, at);
  const bad = (user === undefined ? undefined : badUser(user)) ?? badEscape(rawPath);
  return bad ?? { ...parts, user, host, rawPath };
}

function badUser(user: string): UrlError | undefined {
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) return new UrlError("net/url: invalid userinfo");
  return badEscape(user);
}

function badEscape(text: string): UrlError | undefined {
  const match = /%(?![0-9A-Fa-f]{2}).{0,2}/s.exec(text);
  return match === null ? undefined : new UrlError(`invalid URL escape ${goQuote(match[0])}`);
}

const optionalPort = /^(?::\d*)?$/;
const hostCharacters = /^[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"\u0080-\u{10ffff}]$/u;

function parseHost(scheme: string, host: string): string | UrlError {
  const open = host.lastIndexOf("[");
  if (open > 0) return new UrlError("invalid IP-literal");
  if (open === 0) return parseIpLiteral(host);
  const first = host.indexOf(":");
  if (first >= 0) {
    const strict = scheme === "http" || scheme === "https";
    const port = host.slice(strict ? first : host.lastIndexOf(":"));
    if (!optionalPort.test(port)) return new UrlError(`invalid port ${goQuote(port)} after host`);
  }
  return unescapeHost(host);
}

function parseIpLiteral(host: string): string | UrlError {
  const close = host.lastIndexOf("]");
  if (close < 0) return new UrlError("missing ']' in host");
  const port = host.slice(close + 1);
  if (!optionalPort.test(port)) return new UrlError(`invalid port ${goQuote(port)} after host`);
  const inside = host.slice(1, close).replace("%25", "%");
  const address = parseAddress(inside);
  if (typeof address === "string") return new UrlError(`invalid host: ${address}`);
  if (address.family === 4) return new UrlError("invalid IP-literal");
  return `[${inside}]${port}`;
}

function unescapeHost(host: string): string | UrlError {
  const bad = badEscape(host);
  if (bad !== undefined) return bad;
  for (const [escape_] of host.matchAll(/%[0-9A-Fa-f]{2}/g)) {
    // Only bytes beyond ASCII may be escaped in a host.
    if (Number.parseInt(escape_.slice(1), 16) < 0x80 && escape_ !== "%25") {
      return new UrlError(`invalid URL escape ${goQuote(escape_)}`);
    }
  }
  for (const character of host) {
    if (character !== "%" && !hostCharacters.test(character)) {
      return new UrlError(`invalid character ${goQuote(character)} in host name`);
    }
  }
  return unescapeText(host);
}

/** Percent escapes resolved, as UTF-8. */
export function unescapeText(text: string): string {
  if (!text.includes("%")) return text;
  const bytes: number[] = [];
  const source = Buffer.from(text);
  for (let i = 0; i < source.length; i++) {
    if (source[i] !== 0x25) bytes.push(source[i] as number);
    else {
      bytes.push(Number.parseInt(source.toString("latin1", i + 1, i + 3), 16));
      i += 2;
    }
  }
  return Buffer.from(bytes).toString();
}

/** Host without port and brackets, and port without colon. */
export function splitHost(host: string): { hostname: string; port: string } {
  const colon = host.lastIndexOf(":");
  const hasPort = colon >= 0 && optionalPort.test(host.slice(colon));
  const name = hasPort ? host.slice(0, colon) : host;
  const bare = name.startsWith("[") && name.endsWith("]") ? name.slice(1, -1) : name;
  return { hostname: bare, port: hasPort ? host.slice(colon + 1) : "" };
}

const plainPath = /^[A-Za-z0-9\-._~$&+,/:;=@!'()*[\]%]*$/;

/** The path as it goes over the wire. */
export function escapedPath(rawPath: string): string {
  if (plainPath.test(rawPath) || rawPath === "*") return rawPath;
  let out = "";
  for (const byte of Buffer.from(unescapeText(rawPath))) {
    const character = String.fromCharCode(byte);
    if (byte < 0x80 && /[A-Za-z0-9\-._~$&+,/:;=@]/.test(character)) out += character;
    else out += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}

/** Each parameter with its values in order; what cannot be read is left out. */
export function queryParameters(query: string): Map<string, string[]> {
  const out = new Map<string, string[]>();
  for (const part of query.split("&")) {
    if (part === "" || part.includes(";")) continue;
    const equals = part.indexOf("=");
    const [rawKey, rawValue] = equals < 0 ? [part, ""] : [part.slice(0, equals), part.slice(equals + 1)];
    if (badEscape(rawKey) !== undefined || badEscape(rawValue) !== undefined) continue;
    const key = unescapeText(rawKey.replaceAll("+", " "));
    const value = unescapeText(rawValue.replaceAll("+", " "));
    const values = out.get(key);
    if (values === undefined) out.set(key, [value]);
    else values.push(value);
  }
  return out;
}

/** The whole URL as text; equal URLs print alike. */
export function urlText(url: ParsedUrl): string {
  let out = url.scheme === "" ? "" : `${url.scheme}:`;
  if (url.opaque !== "") out += url.opaque;
  else {
    const path = escapedPath(url.rawPath);
    const named = url.host !== "" || url.user !== undefined;
    if ((url.scheme !== "" || named) && !(url.omitHost && !named)) {
      if (named || path !== "") out += "//";
      if (url.user !== undefined) out += `${url.user}@`;
      out += url.host;
    }
    out += path;
  }
  if (url.forceQuery || url.query !== "") out += `?${url.query}`;
  return url.fragment === "" ? out : `${out}#${url.fragment}`;
}
