/** Request bodies, whatever their media type, as JSON values. */
import type { JsonValue } from "@keelson/core";
import { badRequest, StatusError, unsupportedMediaType } from "../contracts/status-error.ts";
import { parseYaml } from "../messages/text-thread.ts";
import { JsonSyntaxError, parseJsonBody } from "./json-body.ts";

export interface DecodedBody {
  readonly value: JsonValue;
  /** Paths of keys that JSON gives more than once. */
  readonly duplicates: readonly string[];
  /** Keys that YAML gives more than once, as `line 5: key "name" already set in map`. */
  readonly repeated: readonly string[];
  readonly mediaType: string;
  /** The body as it came. */
  readonly source: Uint8Array;
}

const json = "application/json";
const yaml = "application/yaml";
const protobuf = "application/vnd.kubernetes.protobuf";

/** `kind` is what the body should be, for messages; `user` is who sent it. */
export function decodeBody(
  bytes: Uint8Array,
  contentType: string | undefined,
  expected: { kind: string; custom: boolean; user: string },
): DecodedBody | Promise<DecodedBody> {
  const mediaType = contentType === json ? json : mediaTypeOf(contentType ?? json);
  switch (mediaType) {
    case json: {
      const { value, duplicates } = jsonValue(bytes, expected.kind);
      return { value, duplicates, repeated: [], mediaType, source: bytes };
    }
    case yaml:
      return yamlValue(bytes, expected).then((read) => ({
        ...read,
        duplicates: [],
        mediaType,
        source: bytes,
      }));
    case protobuf:
      if (!expected.custom)
        return protobufValue(bytes).then((value) => ({
          value,
          duplicates: [],
          repeated: [],
          mediaType,
          source: bytes,
        }));
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

async function yamlValue(bytes: Uint8Array, { kind, user }: { kind: string; user: string }) {
  try {
    return await parseYaml(text(bytes), user);
  } catch (error) {
    if (!(error instanceof StatusError) || error.status.code !== 400) throw error;
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
