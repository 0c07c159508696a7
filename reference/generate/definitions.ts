// Writes OpenAPI definitions in the short notation that packages/apiserver/src/tables/notation.ts reads.
import { asList, asMap, asString, type Json, type JsonMap } from "./json.ts";

export interface DefinitionPackage {
  /** `io.k8s.api.apps.v1`. */
  readonly name: string;
  /** The last two parts, which stand for the package in references: `apps.v1`. */
  readonly alias: string;
  /** Group and version of the kinds in it, as in x-kubernetes-group-version-kind; undefined when it has none. */
  readonly groupVersion: string | undefined;
  readonly text: string;
}

const refPrefix = "#/components/schemas/";
/** Kinds that belong to every group-version; which ones is a list of its own. */
const shared = new Set(["DeleteOptions", "WatchEvent"]);

export function packageOf(definition: string): string {
  return definition.slice(0, definition.lastIndexOf("."));
}

export function aliasOf(packageName: string): string {
  return packageName.split(".").slice(-2).join(".");
}

export function definitionPackages(definitions: ReadonlyMap<string, JsonMap>): DefinitionPackage[] {
  const byPackage = new Map<string, string[]>();
  for (const name of [...definitions.keys()].sort()) {
    const names = byPackage.get(packageOf(name)) ?? [];
    names.push(name);
    byPackage.set(packageOf(name), names);
  }
  const aliases = new Set([...byPackage.keys()].map(aliasOf));
  if (aliases.size !== byPackage.size) throw new Error("two packages share their last two parts");
  return [...byPackage].map(([name, members]) => {
    const groupVersions = new Set<string>();
    const lines = members.flatMap((member) =>
      definitionLines(member, asMap(definitions.get(member), member), groupVersions),
    );
    if (groupVersions.size > 1)
      throw new Error(`${name} has kinds of several group-versions: ${[...groupVersions]}`);
    return { name, alias: aliasOf(name), groupVersion: [...groupVersions][0], text: lines.join("\n") };
  });
}

function definitionLines(fullName: string, schema: JsonMap, groupVersions: Set<string>): string[] {
  const packageName = packageOf(fullName);
  const name = fullName.slice(packageName.length + 1);
  const { description: _, properties, required, "x-kubernetes-unions": unions, ...own } = schema;
  const gvks = own["x-kubernetes-group-version-kind"];
  delete own["x-kubernetes-group-version-kind"];
  if (gvks !== undefined && !shared.has(name)) {
    const [gvk, ...others] = asList(gvks, fullName).map((entry) => asMap(entry, fullName));
    if (gvk === undefined || others.length > 0 || gvk.kind !== name)
      throw new Error(`${fullName} has unusual kinds`);
    groupVersions.add(gvk.group ? `${gvk.group}/${gvk.version}` : `${gvk.version}`);
  }
  const requiredNames = new Set(required === undefined ? [] : asList(required, fullName));
  const head = `${name}${gvks === undefined ? "" : "*"} ${schemaText(own, packageName, fullName)}`;
  const fields = Object.entries(asMap(properties ?? {}, fullName)).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = fields.map(([field, value]) => {
    const text = schemaText(asMap(value, field), packageName, `${fullName}.${field}`);
    return ` ${field}${requiredNames.delete(field) ? "!" : ""} ${text}`;
  });
  if (requiredNames.size > 0) throw new Error(`${fullName} requires fields it does not have`);
  return [head, ...(unions === undefined ? [] : [` |${JSON.stringify(unions)}`]), ...lines];
}

/** One schema as text; throws on anything the notation has no word for. */
function schemaText(schema: JsonMap, packageName: string, where: string): string {
  const rest = { ...schema };
  const take = (key: string): Json | undefined => {
    const value = rest[key];
    delete rest[key];
    return value;
  };
  take("description");
  let text = typeText(take, packageName, where);
  const listType = take("x-kubernetes-list-type");
  const keys = take("x-kubernetes-list-map-keys");
  if (listType !== undefined)
    text += `~${listType}${keys === undefined ? "" : `(${asList(keys, where).join(",")})`}`;
  else if (keys !== undefined) throw new Error(`${where} has list keys without a list type`);
  const strategy = take("x-kubernetes-patch-strategy");
  const mergeKey = take("x-kubernetes-patch-merge-key");
  if (strategy !== undefined) text += `^${strategy}${mergeKey === undefined ? "" : `(${mergeKey})`}`;
  else if (mergeKey !== undefined) throw new Error(`${where} has a merge key without a strategy`);
  const mapType = take("x-kubernetes-map-type");
  if (mapType !== undefined) text += `%${mapType}`;
  const fallback = take("default");
  if (fallback !== undefined) text += `=${JSON.stringify(fallback)}`;
  if (Object.keys(rest).length > 0)
    throw new Error(`${where} has ${Object.keys(rest)}, for which the notation has no word`);
  return text;
}

function typeText(take: (key: string) => Json | undefined, packageName: string, where: string): string {
  const allOf = take("allOf");
  const ref = allOf === undefined ? take("$ref") : asMap(asList(allOf, where)[0], where).$ref;
  if (ref !== undefined) return `@${refText(asString(ref, where), packageName)}`;
  const format = take("format");
  const oneOf = take("oneOf");
  if (oneOf !== undefined) return format === "int-or-string" ? "int-or-string" : "quantity";
  const type = take("type");
  const items = take("items");
  if (items !== undefined) return `[${schemaText(asMap(items, where), packageName, where)}]`;
  const values = take("additionalProperties");
  if (values !== undefined) return `{${schemaText(asMap(values, where), packageName, where)}}`;
  const choices = take("enum");
  const suffix = choices === undefined ? "" : `(${asList(choices, where).join("|")})`;
  const word = { string: "s", boolean: "b", object: "o", integer: "i", number: "n" }[String(type)] ?? "?";
  return `${word}${format === undefined ? "" : `/${format}`}${suffix}`;
}

function refText(ref: string, packageName: string): string {
  if (!ref.startsWith(refPrefix)) throw new Error(`cannot follow ${ref}`);
  const name = ref.slice(refPrefix.length);
  const target = packageOf(name);
  return target === packageName
    ? name.slice(target.length + 1)
    : `${aliasOf(target)}.${name.slice(target.length + 1)}`;
}
