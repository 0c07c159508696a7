/** Request bodies, whatever their media type, as JSON values. */
import type { JsonValue } from "@keelson/core";
import type { Document } from "yaml";
import { badRequest, StatusError, unsupportedMediaType } from "../contracts/status-error.ts";
import { JsonSyntaxError, maxDepth, parseJsonBody } from "./json-body.ts";

export interface DecodedBody {
  readonly value: JsonValue;
  /** Paths of keys given more than once. */
  readonly duplicates: readonly string[];
  readonly mediaType: string;
  /** The body as it came. */
  readonly source: Uint8Array;
}

const json = "application/json";
const yaml = "application/yaml";
const protobuf = "application/vnd.kubernetes.protobuf";

/** `kind` is what the body should be, for messages. */
export function decodeBody(
  bytes: Uint8Array,
  contentType: string | undefined,
  expected: { kind: string; custom: boolean },
): DecodedBody | Promise<DecodedBody> {
  const mediaType = contentType === json ? json : mediaTypeOf(contentType ?? json);
  switch (mediaType) {
    case json: {
      const { value, duplicates } = jsonValue(bytes, expected.kind);
      return { value, duplicates, mediaType, source: bytes };
    }
    case yaml:
      return yamlValue(bytes, expected.kind).then((read) => ({ ...read, mediaType, source: bytes }));
    case protobuf:
      if (!expected.custom)
        return protobufValue(bytes).then((value) => ({ value, duplicates: [], mediaType, source: bytes }));
  }
  throw unsupportedMediaType(expected.custom ? [json, yaml] : [json, yaml, protobuf]);
}

/** `; name=value`, one at a time: all of them in one expression would take time with the square of their length. */
const parameter = /\s*;\s*[\w!#$%&'*+.^`|~-]+\s*=\s*(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*")/y;

function areParameters(text: string): boolean {
  let at = 0;
  do {
    parameter.lastIndex = at;
    at = parameter.test(text) ? parameter.lastIndex : at;
  } while (parameter.lastIndex > 0);
  const rest = text.slice(at).trim();
  return rest === "" || rest === ";";
}

/** Empty for a header that is not well-formed. */
function mediaTypeOf(contentType: string): string {
  const end = contentType.indexOf(";");
  if (end < 0) return contentType.trim().toLowerCase() || json;
  return areParameters(contentType.slice(end)) ? contentType.slice(0, end).trim().toLowerCase() : "";
}

function text(bytes: Uint8Array): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return buffer.toString("utf8");
}

function jsonValue(bytes: Uint8Array, kind: string) {
  try {
    return parseJsonBody(text(bytes));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw unrecognized(kind, `couldn't get version/kind; json parse error: ${error.message}`, bytes);
  }
}

async function yamlValue(bytes: Uint8Array, kind: string) {
  try {
    return await parseYaml(text(bytes));
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw unrecognized(kind, `couldn't get version/kind; ${error.status.message}`, bytes);
  }
}

/** A body of which the kind cannot be read. */
export function unrecognized(kind: string, why: string, body: Uint8Array): StatusError {
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind}): ${why} (${beginning(body)})`,
  );
}

const shownBytes = 30;

function beginning(body: Uint8Array): string {
  if (body.length === 0) return "<empty>";
  const head = Buffer.from(body.subarray(0, shownBytes));
  return `${head.toString(head[0] === 0x7b ? "utf8" : "hex")}${body.length > shownBytes ? " ..." : ""}`;
}

async function protobufValue(bytes: Uint8Array): Promise<JsonValue> {
  const { decode, ProtobufError } = await import("../protobuf/index.ts");
  try {
    return decode(bytes).object as JsonValue;
  } catch (error) {
    if (error instanceof ProtobufError) throw badRequest(error.message);
    throw error;
  }
}

/** Faults that the server's reader has words of its own for. */
const yamlFaults: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY: "mapping values are not allowed in this context",
  TAB_AS_INDENT: "found character that cannot start any token",
};

/** YAML as the server reads it: JSON's types, and duplicate keys noticed rather than refused. */
export async function parseYaml(source: string): Promise<{ value: JsonValue; duplicates: string[] }> {
  const { parseAllDocuments, isMap, isSeq, isScalar, isAlias } = await import("yaml");
  // Words such as yes and on are true, as they were in YAML 1.1; times stay text, and nothing counts to sixty.
  const [document] = parseAllDocuments(source, {
    uniqueKeys: false,
    version: "1.1",
    customTags: (tags) =>
      tags.filter(
        (tag) => typeof tag === "string" || (!tag.tag.endsWith(":timestamp") && tag.format !== "TIME"),
      ),
  }) as Document.Parsed[];
  if (!document) return { value: null, duplicates: [] };
  const fault = document.errors[0];
  if (fault) throw badRequest(`yaml: ${yamlFaults[fault.code] ?? fault.message.split("\n")[0]}`);
  const duplicates: string[] = [];
  const visit = (node: unknown, path: string, depth: number): void => {
    if (depth > maxDepth) throw badRequest("exceeded max depth");
    if (isAlias(node)) return;
    if (isMap(node)) {
      const seen = new Set<string>();
      for (const { key, value } of node.items) {
        const name = String(isScalar(key) ? key.value : key);
        const at = path ? `${path}.${name}` : name;
        if (seen.has(name)) duplicates.push(at);
        seen.add(name);
        visit(value, at, depth + 1);
      }
    } else if (isSeq(node)) {
      for (const [i, item] of node.items.entries()) visit(item, `${path}[${i}]`, depth + 1);
    }
  };
  visit(document.contents, "", 0);
  try {
    const value = document.toJS({ maxAliasCount: 100 }) as JsonValue;
    return { value: value ?? null, duplicates };
  } catch (error) {
    throw badRequest(`yaml: ${error instanceof Error ? error.message : String(error)}`);
  }
}
