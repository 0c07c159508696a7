// Writes every built-in kind as TypeScript: interfaces in plain JSON shape, and one small value per resource.
import { aliasOf, packageOf } from "./definitions.ts";
import { asList, asMap, asString, type JsonMap } from "./json.ts";
import type { Observation } from "./observe.ts";
import { banner, literal, type Output } from "./output.ts";
import { groupVersionFacts, type ResourceFacts } from "./resources.ts";

const directory = "packages/core/src/kinds";
const refPrefix = "#/components/schemas/";
/** Definitions that core has written by hand, by the module that exports them. */
const handwritten: Readonly<Record<string, string>> = {
  "io.k8s.apimachinery.pkg.apis.meta.v1.Condition": "../object.ts",
  "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry": "../object.ts",
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "../object.ts",
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": "../object.ts",
  "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": "../object.ts",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Status": "../status.ts",
  "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause": "../status.ts",
  "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails": "../status.ts",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "../object.ts",
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "./scalars.ts",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "./scalars.ts",
};
/** Definitions that are nothing but a JSON value, and unions that OpenAPI leaves open. */
const spelled: Readonly<Record<string, string>> = {
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "JsonObject",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Patch": "JsonValue",
  "io.k8s.apimachinery.pkg.runtime.RawExtension": "JsonObject",
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "JsonValue",
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray":
    "JSONSchemaProps | JSONSchemaProps[]",
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool":
    "JSONSchemaProps | boolean",
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray":
    "JSONSchemaProps | string[]",
};

/** `all` serves every group-version there is, `usual` only those that are on by default. */
export function kindOutputs(all: Observation, usual: Observation): Output[] {
  const files = kindFiles(all);
  return [...files.map((file) => file.output), indexOutput(files, usual)];
}

interface KindFile {
  readonly package: string;
  /** `apps-v1`. */
  readonly stem: string;
  readonly types: readonly string[];
  readonly values: ReadonlySet<string>;
  readonly output: Output;
}

function kindFiles(observation: Observation): KindFile[] {
  const facts = groupVersionFacts(observation);
  const byPackage = new Map<string, string[]>();
  for (const name of [...observation.definitions.keys()].sort()) {
    if (handwritten[name] !== undefined || spelled[name] !== undefined) continue;
    byPackage.set(packageOf(name), [...(byPackage.get(packageOf(name)) ?? []), name]);
  }
  return [...byPackage].map(([packageName, names]) => {
    const writer = new FileWriter(packageName);
    const values = new Set<string>();
    const blocks = names.map((name) => {
      const schema = asMap(observation.definitions.get(name), name);
      const kind = name.slice(packageName.length + 1);
      const [gvk] = Array.isArray(schema["x-kubernetes-group-version-kind"])
        ? schema["x-kubernetes-group-version-kind"]
        : [];
      const { group, version } = asMap(gvk ?? {}, name);
      const of = facts.find((entry) => entry.group === group && entry.version === version);
      const resource = of?.resources.find((entry) => entry.kind === kind);
      if (of === undefined || resource === undefined) return writer.interface(kind, schema);
      values.add(kind);
      return writer.interface(kind, schema) + writer.value(of.group, of.version, resource, schema);
    });
    const stem = stemOf(packageName);
    const subject = `Kinds and types of ${aliasOf(packageName).replace(".", "/")}.`;
    const text = `${banner(subject)}${writer.imports()}\n${blocks.join("\n")}`;
    const types = names.map((name) => name.slice(packageName.length + 1));
    return {
      package: packageName,
      stem,
      types,
      values,
      output: { path: `${directory}/${stem}.generated.ts`, text },
    };
  });
}

class FileWriter {
  private readonly packageName: string;
  private readonly named = new Map<string, Set<string>>();
  private readonly namespaces = new Set<string>();

  constructor(packageName: string) {
    this.packageName = packageName;
  }

  imports(): string {
    const lines = [
      ...[...this.named].map(
        ([path, names]) => `import type { ${[...names].sort().join(", ")} } from "${path}";\n`,
      ),
      ...[...this.namespaces].map(
        (stem) => `import type * as ${camel(stem)} from "./${stem}.generated.ts";\n`,
      ),
    ];
    const pathOf = (line: string) => line.slice(line.indexOf('"'));
    return lines.sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1)).join("");
  }

  interface(name: string, schema: JsonMap): string {
    const required = new Set(schema.required === undefined ? [] : asList(schema.required, name));
    const fields = Object.entries(asMap(schema.properties ?? {}, name)).map(([field, value]) => {
      // The order of keys in JSON follows the spelling of Go's fields; identity first reads better.
      const rank = ["apiVersion", "kind", "metadata"].indexOf(field);
      const key = /^[a-zA-Z_]\w*$/.test(field) ? field : JSON.stringify(field);
      return {
        rank: rank < 0 ? 3 : rank,
        field,
        line: `  ${key}${required.has(field) ? "" : "?"}: ${this.type(asMap(value, field))};\n`,
      };
    });
    fields.sort((a, b) => a.rank - b.rank || (a.field < b.field ? -1 : 1));
    if (fields.length === 0) return `export type ${name} = Record<string, never>;\n`;
    return `export interface ${name} {\n${fields.map((field) => field.line).join("")}}\n`;
  }

  value(group: string, version: string, resource: ResourceFacts, schema: JsonMap): string {
    this.use("../kind.ts", "Kind");
    const { kind } = resource;
    const spec = asMap(schema.properties, kind).spec;
    // The default marks a struct that is no pointer: the server always writes it.
    const stored =
      spec !== undefined && asMap(spec, kind).default !== undefined
        ? `, ${kind} & { spec: ${this.type(asMap(spec, kind))} }`
        : "";
    const facts = {
      group,
      version,
      kind,
      resource: resource.name,
      scope: resource.namespaced ? "Namespaced" : "Cluster",
    };
    return `export const ${kind}: Kind<${kind}, ${literal(group)}, ${literal(kind)}${stored}> = Object.freeze(${literal(facts)});\n`;
  }

  private type(schema: JsonMap): string {
    const ref =
      schema.$ref ??
      (schema.allOf === undefined ? undefined : asMap(asList(schema.allOf, "allOf")[0], "allOf").$ref);
    if (ref !== undefined) return this.reference(asString(ref, "$ref").slice(refPrefix.length));
    if (schema.items !== undefined) {
      const items = this.type(asMap(schema.items, "items"));
      return items.includes(" ") ? `(${items})[]` : `${items}[]`;
    }
    if (schema.additionalProperties !== undefined)
      return `Record<string, ${this.type(asMap(schema.additionalProperties, "values"))}>`;
    if (schema.enum !== undefined)
      return asList(schema.enum, "enum")
        .map((choice) => JSON.stringify(choice))
        .join(" | ");
    switch (schema.type) {
      case "string":
      case "boolean":
        return schema.type;
      case "integer":
      case "number":
        return "number";
      case "object":
        return this.use("../object.ts", "JsonObject");
      default:
        return this.use("../object.ts", "JsonValue");
    }
  }

  private reference(name: string): string {
    const own = packageOf(name);
    const short = name.slice(own.length + 1);
    const path = handwritten[name];
    if (path !== undefined) return this.use(path, short);
    const text = spelled[name];
    if (text === "JsonObject" || text === "JsonValue") return this.use("../object.ts", text);
    if (text !== undefined) return text;
    if (own === this.packageName) return short;
    const stem = stemOf(own);
    this.namespaces.add(stem);
    return `${camel(stem)}.${short}`;
  }

  private use(path: string, name: string): string {
    this.named.set(path, (this.named.get(path) ?? new Set()).add(name));
    return name;
  }
}

/** Plain names for what is served by default, the earlier group in discovery first; namespaces for everything. */
function indexOutput(files: readonly KindFile[], usual: Observation): Output {
  const taken = new Set<string>();
  const order = groupVersionFacts(usual).map(({ group, version }) =>
    group ? `${group}/${version}` : version,
  );
  const rank = (file: KindFile): number => {
    const alias = aliasOf(file.package);
    if (alias === "meta.v1") return 0.5;
    const at = order.findIndex((groupVersion) => groupVersionAlias(groupVersion) === alias);
    return at < 0 ? Number.POSITIVE_INFINITY : at;
  };
  const lines: string[] = [];
  for (const file of [...files].sort((a, b) => rank(a) - rank(b))) {
    if (rank(file) === Number.POSITIVE_INFINITY) continue;
    const free = file.types.filter((name) => !taken.has(name));
    for (const name of free) taken.add(name);
    const names = free.map((name) => (file.values.has(name) ? name : `type ${name}`));
    if (names.length > 0)
      lines.push(
        `export {\n${names.map((name) => `  ${name},\n`).join("")}} from "./${file.stem}.generated.ts";\n`,
      );
  }
  const namespaces = files.map(
    (file) => `export * as ${camel(file.stem)} from "./${file.stem}.generated.ts";\n`,
  );
  const subject = "Every built-in kind: by plain name in its preferred version, by namespace in each.";
  return {
    path: `${directory}/all.generated.ts`,
    text: banner(subject) + lines.join("") + namespaces.sort().join(""),
  };
}

/** `rbac.authorization.k8s.io/v1` is the package `rbac.v1`, `v1` is `core.v1`. */
function groupVersionAlias(groupVersion: string): string {
  const [group, version] = groupVersion.includes("/") ? groupVersion.split("/") : ["core", groupVersion];
  return `${group?.split(".")[0]}.${version}`;
}

function camel(stem: string): string {
  return stem.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** `apps-v1` for `io.k8s.api.apps.v1`; the package of the server's version has none of its own. */
function stemOf(packageName: string): string {
  return aliasOf(packageName).replace("pkg.version", "version").replaceAll(".", "-");
}
