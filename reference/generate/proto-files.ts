// Reads messages, field numbers and wire types from the modules' protobuf files.
import { readFileSync } from "node:fs";

export interface ProtoField {
  readonly number: number;
  readonly label: "optional" | "repeated" | "map";
  /** A scalar's name, or the full name of a message. */
  readonly type: string;
}

export interface ProtoMessage {
  readonly name: string;
  readonly fields: readonly ProtoField[];
}

export interface ProtoFile {
  /** `k8s.io.api.apps.v1`. */
  readonly package: string;
  readonly messages: readonly ProtoMessage[];
}

export const scalars = new Set(["string", "bytes", "bool", "int32", "int64", "double"]);
const fieldLine = /^\s*(?:(optional|repeated) ([\w.-]+)|map<string, ([\w.-]+)>) (\w+) = (\d+);$/;

export function readProtoFile(path: string): ProtoFile {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => !/^\s*(\/\/|$)/.test(line));
  const packageName = lines
    .map((line) => /^package ([\w.-]+);$/.exec(line)?.[1])
    .find((name) => name !== undefined);
  if (packageName === undefined) throw new Error(`${path} names no package`);
  const messages: ProtoMessage[] = [];
  let current: { name: string; fields: ProtoField[] } | undefined;
  for (const line of lines) {
    const opened = /^message (\w+) \{$/.exec(line)?.[1];
    if (opened !== undefined) current = { name: opened, fields: [] };
    else if (line === "}" && current !== undefined) {
      messages.push(current);
      current = undefined;
    } else if (current !== undefined) current.fields.push(readField(line, packageName, path));
  }
  return { package: packageName, messages };
}

function readField(line: string, packageName: string, path: string): ProtoField {
  const [, label, plain, mapped, , number] = fieldLine.exec(line) ?? [];
  const type = plain ?? mapped;
  if (type === undefined) throw new Error(`${path} has a line this reader does not know: ${line}`);
  const qualified = scalars.has(type)
    ? type
    : type.includes(".")
      ? type.replace(/^\./, "")
      : `${packageName}.${type}`;
  return {
    number: Number(number),
    label: mapped === undefined ? (label as "optional" | "repeated") : "map",
    type: qualified,
  };
}
