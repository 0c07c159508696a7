/**
 * The built-in protobuf messages, read from the generated table a package at a time.
 *
 * A line without indentation opens a message. One that ends in a type is a named list: a message of its own on
 * the wire, a plain list in JSON. A line with one space is a field: number, JSON name (empty when inlined),
 * flags and type, in the order in which Go writes them as JSON.
 *
 *     flags = [ "*" pointer ] [ "?" omitempty ] [ "0" omitzero ] [ "<" inline ]
 *     type  = scalar | "@" message | "[" type "]" | "{" type "}" (a map from string)
 *     scalar = "s" string | "y" bytes | "b" bool | "i" int32 | "l" int64 | "d" double
 *     message = name in the same package | full name without `k8s.io.`
 */

import { messagePackages } from "./generated/messages.ts";
import type { MessagePackageFacts } from "./notation/message-facts.ts";

export type Scalar = "s" | "y" | "b" | "i" | "l" | "d";

export interface Field {
  readonly number: number;
  /** Place among the message's fields. */
  readonly index: number;
  /** In JSON; empty for an inlined struct. */
  readonly name: string;
  readonly shape: "one" | "list" | "map";
  /** Of the value, the list's items or the map's values. */
  readonly scalar: Scalar | undefined;
  readonly messageName: string;
  readonly pointer: boolean;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
  readonly inline: boolean;
}

export interface Message {
  readonly name: string;
  readonly fields: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
  /** Set for a named list: its only field holds the items. */
  readonly isList: boolean;
  /** A top-level object without kind and apiVersion of its own. */
  readonly isAnonymous: boolean;
}

const apimachinery = "k8s.io.apimachinery.pkg";
export const wellKnown = {
  time: `${apimachinery}.apis.meta.v1.Time`,
  microTime: `${apimachinery}.apis.meta.v1.MicroTime`,
  duration: `${apimachinery}.apis.meta.v1.Duration`,
  fieldsV1: `${apimachinery}.apis.meta.v1.FieldsV1`,
  quantity: `${apimachinery}.api.resource.Quantity`,
  rawExtension: `${apimachinery}.runtime.RawExtension`,
  unknown: `${apimachinery}.runtime.Unknown`,
  intOrString: `${apimachinery}.util.intstr.IntOrString`,
  json: "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON",
  schemaOrArray: "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
  schemaOrBool: "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
  schemaOrStrings: "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
} as const;

const factsByPackage = new Map(messagePackages.map((facts) => [facts.name, facts]));
const packageByGroupVersion = new Map(
  messagePackages
    .filter((facts) => facts.groupVersion !== "")
    .map((facts) => [facts.groupVersion, facts.name]),
);
const parsed = new Map<string, ReadonlyMap<string, Message>>();
const meta = `${apimachinery}.apis.meta.v1`;
/** Kinds of meta.k8s.io that are sent under the group-version of the resource they are about. */
const sharedKinds = new Set([
  "Status",
  "WatchEvent",
  "ListOptions",
  "GetOptions",
  "CreateOptions",
  "UpdateOptions",
  "PatchOptions",
  "DeleteOptions",
  "APIGroup",
  "APIGroupList",
  "APIResourceList",
  "APIVersions",
]);

/** The message of that full name; the table holds every name that another message refers to. */
export function messageNamed(name: string): Message {
  const message = load(name.slice(0, name.lastIndexOf("."))).get(name);
  if (message === undefined) throw new Error(`the protobuf table has no ${name}`);
  return message;
}

/** The message of a kind; undefined when it is not built in. */
export function messageOfKind(apiVersion: string, kind: string): Message | undefined {
  const packageName = packageByGroupVersion.get(apiVersion);
  const own = packageName === undefined ? undefined : load(packageName).get(`${packageName}.${kind}`);
  return own ?? (sharedKinds.has(kind) ? load(meta).get(`${meta}.${kind}`) : undefined);
}

function load(packageName: string): ReadonlyMap<string, Message> {
  const known = parsed.get(packageName);
  if (known !== undefined) return known;
  const facts = factsByPackage.get(packageName);
  const messages = facts === undefined ? new Map<string, Message>() : parse(facts);
  if (facts !== undefined) parsed.set(packageName, messages);
  return messages;
}

function parse(facts: MessagePackageFacts): Map<string, Message> {
  const messages = new Map<string, Message>();
  let fields: Field[] = [];
  let byNumber = new Map<number, Field>();
  const open = (name: string, isList: boolean) => {
    fields = [];
    byNumber = new Map();
    const fullName = `${facts.name}.${name}`;
    messages.set(fullName, {
      name: fullName,
      fields,
      byNumber,
      isList,
      isAnonymous: fullName === `${meta}.WatchEvent`,
    });
  };
  const add = (number: number, name: string, type: string) => {
    const field = readField(number, fields.length, name, type, facts.name);
    fields.push(field);
    byNumber.set(number, field);
  };
  for (const line of facts.text.split("\n")) {
    const words = line.split(" ");
    if (words[0] === "") add(Number(words[1]), words[2] ?? "", words[3] ?? "");
    else {
      open(words[0] ?? "", words.length > 1);
      if (words[1] !== undefined) add(1, "items", words[1]);
    }
  }
  return messages;
}

function readField(number: number, index: number, name: string, text: string, packageName: string): Field {
  const [, flags = "", open = "", type = ""] = /^([*?0<]*)([[{]?)([^\]}]+)/.exec(text) ?? [];
  const reference = type.startsWith("@") ? type.slice(1) : "";
  return {
    number,
    index,
    name,
    shape: open === "[" ? "list" : open === "{" ? "map" : "one",
    scalar: reference === "" ? (type as Scalar) : undefined,
    messageName:
      reference === "" ? "" : reference.includes(".") ? `k8s.io.${reference}` : `${packageName}.${reference}`,
    pointer: flags.includes("*"),
    omitEmpty: flags.includes("?"),
    omitZero: flags.includes("0"),
    inline: flags.includes("<"),
  };
}
