/** Links of a page that comes through a proxy, made to lead through it again. */
import { posix } from "node:path";
import { Readable } from "node:stream";
import { createDeflateRaw, createGunzip, createGzip, createInflateRaw } from "node:zlib";
import type { ProxyResponse } from "./transport.ts";

export interface ProxiedPage {
  /** Where the page came from, as `10.244.0.5:8080`. */
  readonly source: string;
  /** What the client calls this server: its Host header. */
  readonly host: string;
  /** Path of the proxy, without the slash at its end. */
  readonly prefix: string;
}

/** Attributes that hold an address, by the elements that have them. */
const links: Readonly<Record<string, readonly string[] | undefined>> = Object.assign(Object.create(null), {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
});

/** The answer with its redirect or the links of its page rewritten. */
export function rewriteLinks(response: ProxyResponse, page: ProxiedPage): ProxyResponse {
  const { location } = response.headers;
  if (typeof location === "string" && location !== "")
    return { ...response, headers: { ...response.headers, location: rewriteLink(location, page) } };
  const type = String(response.headers["content-type"] ?? "");
  if (type.split(";")[0]?.trim() !== "text/html") return response;
  const body = rewriteBody(response, page);
  if (!body) return response;
  const { "content-length": _, ...headers } = response.headers;
  return { ...response, headers, body };
}

/** `undefined` for an encoding that is not known. */
function rewriteBody(
  { headers, body }: ProxyResponse,
  page: ProxiedPage,
): AsyncIterable<Uint8Array> | undefined {
  switch (headers["content-encoding"] ?? "") {
    case "":
      return rewritePage(body, page);
    case "gzip":
      return Readable.from(rewritePage(Readable.from(body).pipe(createGunzip()), page)).pipe(createGzip());
    case "deflate":
      return Readable.from(rewritePage(Readable.from(body).pipe(createInflateRaw()), page)).pipe(
        createDeflateRaw(),
      );
    default:
      return undefined;
  }
}

/** A link to the page's own host, given by an absolute path, leads through the proxy. */
export function rewriteLink(link: string, { source, host, prefix }: ProxiedPage): string {
  const parts = /^(?:([A-Za-z][\w+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)([\s\S]*)$/.exec(link);
  if (!parts) return link;
  const [, scheme, authority = "", path = "", rest = ""] = parts;
  if (!path.startsWith("/")) return link;
  if (authority !== "" && authority !== source && authority !== host) return link;
  if (scheme !== undefined && authority === "") return link;
  const before = authority !== "" && authority === host ? `${scheme ? `${scheme}:` : ""}//${authority}` : "";
  return `${before}${path.startsWith(prefix) ? path : posix.join(prefix, path)}${rest}`;
}

/** A tag that is longer is passed on as it is. */
const longestTag = 64 * 1024;
/** Elements whose text is no markup. */
const rawText = /^(?:script|style|textarea|title|xmp|noframes|iframe|noembed|plaintext)$/;

/** Bytes stay as they are outside of links, whatever the page's character set is. */
async function* rewritePage(body: AsyncIterable<Uint8Array>, page: ProxiedPage): AsyncGenerator<Uint8Array> {
  let rest = "";
  let until: RegExp | undefined;
  for await (const chunk of body) {
    const read = rewriteText(rest + Buffer.from(chunk).toString("latin1"), until, page);
    ({ rest, until } = read);
    if (read.done !== "") yield Buffer.from(read.done, "latin1");
  }
  if (rest !== "") yield Buffer.from(rest, "latin1");
}

interface Progress {
  readonly done: string;
  /** What may be the beginning of a tag. */
  readonly rest: string;
  /** The end of the text in which nothing is a tag. */
  readonly until: RegExp | undefined;
}

function rewriteText(text: string, inside: RegExp | undefined, page: ProxiedPage): Progress {
  let done = "";
  let at = 0;
  let until = inside;
  while (at < text.length) {
    const next = until ? text.slice(at).search(until) : text.indexOf("<", at) - at;
    if (next < 0) {
      // The end of raw text may be cut in two; so may nothing else.
      const kept = until ? Math.max(at, text.length - 16) : text.length;
      return { done: done + text.slice(at, kept), rest: text.slice(kept), until };
    }
    done += text.slice(at, at + next);
    at += next;
    until = undefined;
    const length = tagLength(text, at);
    if (length === undefined) {
      if (text.length - at > longestTag) return { done: done + text.slice(at), rest: "", until };
      return { done, rest: text.slice(at), until };
    }
    const tag = text.slice(at, at + length);
    done += rewriteTag(tag, page);
    at += length;
    const name = /^<([A-Za-z][\w-]*)/.exec(tag)?.[1]?.toLowerCase();
    if (name !== undefined && rawText.test(name)) until = new RegExp(`</${name}`, "i");
  }
  return { done, rest: "", until };
}

/** From `<` to the end of the tag or comment; `undefined` when the end is not there yet. */
function tagLength(text: string, at: number): number | undefined {
  if (text.startsWith("<!--", at)) {
    const end = text.indexOf("-->", at + 4);
    return end < 0 ? undefined : end + 3 - at;
  }
  if (at + 1 < text.length && !/[A-Za-z/!?]/.test(text[at + 1] as string)) return 1;
  let quote = "";
  for (let i = at + 1; i < text.length; i++) {
    const char = text[i] as string;
    if (quote !== "") quote = char === quote ? "" : quote;
    else if ((char === '"' || char === "'") && text[i - 1] === "=") quote = char;
    else if (char === ">") return i + 1 - at;
  }
  return undefined;
}

const attribute = /([^\s"'<>/=]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'=<>`]+)/g;

function rewriteTag(tag: string, page: ProxiedPage): string {
  const name = /^<([A-Za-z][\w-]*)/.exec(tag)?.[1];
  const rewritten = name === undefined ? undefined : links[name.toLowerCase()];
  if (name === undefined || !rewritten) return tag;
  const attributes = tag
    .slice(1 + name.length)
    .replace(attribute, (whole, key: string, equals: string, value: string) => {
      if (!rewritten.includes(key.toLowerCase())) return whole;
      const quote = /^["']/.exec(value)?.[0] ?? "";
      const link = quote === "" ? value : value.slice(1, -1);
      return `${key}${equals}${quote}${rewriteLink(link, page)}${quote}`;
    });
  return `<${name}${attributes}`;
}
