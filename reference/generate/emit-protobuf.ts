// Writes the table of protobuf messages that the API server's codec reads.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { type GoField, type GoPackage, readGoPackage } from "./go-structs.ts";
import { moduleDirectories, type StagingModule } from "./modules.ts";
import { banner, literal, type Output } from "./output.ts";
import { type ProtoField, type ProtoFile, type ProtoMessage, readProtoFile, scalars } from "./proto-files.ts";

const words: Record<string, string> = {
  string: "s",
  bytes: "y",
  bool: "b",
  int32: "i",
  int64: "l",
  double: "d",
};
/** Everything in k8s.io/api, and these. */
const others: readonly (readonly [StagingModule, string])[] = [
  ["k8s.io/apimachinery", "pkg/api/resource"],
  ["k8s.io/apimachinery", "pkg/apis/meta/v1"],
  ["k8s.io/apimachinery", "pkg/runtime"],
  ["k8s.io/apimachinery", "pkg/util/intstr"],
  ["k8s.io/apiextensions-apiserver", "pkg/apis/apiextensions/v1"],
  ["k8s.io/kube-aggregator", "pkg/apis/apiregistration/v1"],
];

export function protobufOutputs(): Output[] {
  const directories = moduleDirectories();
  const root = (module: StagingModule): string => directories.get(module) ?? "";
  const api = readdirSync(root("k8s.io/api"), { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith("generated.proto"),
  );
  const folders = [
    ...api.sort().map((path) => join(root("k8s.io/api"), dirname(path))),
    ...others.map(([module, path]) => join(root(module), path)),
  ];
  const goPackages = new Map(folders.map((folder) => [folder, readGoPackage(folder)]));
  const structOf = (go: GoPackage, name: string): readonly GoField[] | undefined => {
    const derived = go.derived.get(name);
    if (derived === undefined) return go.structs.get(name);
    const source = goPackages.get(
      derived.importPath.replace(/^k8s\.io\/[\w-]+/, (module) => root(module as StagingModule)),
    );
    return source === undefined ? undefined : structOf(source, derived.name);
  };
  const packages = [...goPackages].map(([folder, go]) => {
    const proto = join(folder, "generated.proto");
    if (!existsSync(proto)) throw new Error(`${folder} has no generated.proto`);
    return packageText(readProtoFile(proto), go, (name) => structOf(go, name));
  });
  const text = [
    banner(
      "Field numbers, wire types and JSON names of built-in messages, in the notation of ../messages.ts.",
    ),
    `import type { MessagePackageFacts } from "../messages.ts";\n\n`,
    `export const messagePackages: readonly MessagePackageFacts[] = [\n${packages.join("")}];\n`,
  ];
  return [{ path: "packages/apiserver/src/protobuf/generated/messages.ts", text: text.join("") }];
}

type StructOf = (name: string) => readonly GoField[] | undefined;

function packageText(proto: ProtoFile, go: GoPackage, structOf: StructOf): string {
  const version = proto.package.slice(proto.package.lastIndexOf(".") + 1);
  const groupVersion =
    go.groupName === undefined ? "" : go.groupName ? `${go.groupName}/${version}` : version;
  const lines = proto.messages.flatMap((message) => messageLines(message, proto, go, structOf));
  return `  {\n    name: ${literal(proto.package)},\n    groupVersion: ${literal(groupVersion)},\n    text: String.raw\`${lines.join("\n")}\`,\n  },\n`;
}

function messageLines(message: ProtoMessage, proto: ProtoFile, go: GoPackage, structOf: StructOf): string[] {
  if (go.slices.has(message.name)) {
    const [items] = message.fields;
    if (items === undefined || message.fields.length > 1)
      throw new Error(`${message.name} is a slice of several fields`);
    return [`${message.name} ${typeText(items, proto)}`];
  }
  const struct = structOf(message.name);
  if (struct === undefined) throw new Error(`${proto.package} has no struct for ${message.name}`);
  const unmatched = new Map(message.fields.map((field) => [field.number, field]));
  const lines = struct.flatMap((field) => {
    const wire = unmatched.get(field.number);
    unmatched.delete(field.number);
    return wire === undefined ? [] : [fieldLine(field, wire, proto)];
  });
  // Messages with a marshaler of their own (Time, Quantity, …) have fields no tag speaks of; the codec knows those by name.
  const untagged = [...unmatched.values()].map((field) => ` ${field.number}  ${typeText(field, proto)}`);
  return [message.name, ...lines, ...untagged];
}

/** ` number name flags type`; see the notation. */
function fieldLine(field: GoField, wire: ProtoField, proto: ProtoFile): string {
  const flags = [
    field.goType.startsWith("*") ? "*" : "",
    field.omitEmpty ? "?" : "",
    field.omitZero ? "0" : "",
    field.inline ? "<" : "",
  ];
  return ` ${field.number} ${field.inline ? "" : field.jsonName} ${flags.join("")}${typeText(wire, proto)}`;
}

function typeText(field: ProtoField, proto: ProtoFile): string {
  const own = `${proto.package}.`;
  const plain = scalars.has(field.type)
    ? words[field.type]
    : `@${field.type.startsWith(own) ? field.type.slice(own.length) : field.type.replace("k8s.io.", "")}`;
  return { optional: `${plain}`, repeated: `[${plain}]`, map: `{${plain}}` }[field.label];
}
