/** Definitions of the built-in kinds, each package parsed when something in it is first asked for. */
import { definitionPackages, sharedGroupVersions } from "./generated/definitions.ts";
import { parseDefinitions } from "./notation/notation.ts";
import type { Schema } from "./notation/schema.ts";

const parsed = new Map<string, Map<string, Schema>>();
const packageByAlias = new Map(definitionPackages.map((entry) => [entry.alias, entry.name]));
const packageByName = new Map(definitionPackages.map((entry) => [entry.name, entry]));
const metaV1 = "io.k8s.apimachinery.pkg.apis.meta.v1";
/** Kinds that every group-version shares. */
const sharedKinds = ["DeleteOptions", "WatchEvent"];

/** The definition of that full name, `io.k8s.api.apps.v1.Deployment`; undefined when no served kind uses it. */
export function definition(name: string): Schema | undefined {
  return load(name.slice(0, name.lastIndexOf("."))).get(name);
}

/** Full names of all definitions: this parses every package. */
export function definitionNames(): string[] {
  return definitionPackages.flatMap((entry) => [...load(entry.name).keys()]);
}

/**
 * Name of a kind's definition; undefined when the kind is not built in or not served. Kinds that every
 * group-version has (DeleteOptions, WatchEvent) are found under any of them.
 */
export function definitionName(kind: { group: string; version: string; kind: string }): string | undefined {
  if (sharedKinds.includes(kind.kind)) return `${metaV1}.${kind.kind}`;
  const groupVersion = kind.group ? `${kind.group}/${kind.version}` : kind.version;
  for (const entry of definitionPackages) {
    const name = `${entry.name}.${kind.kind}`;
    if (entry.groupVersion === groupVersion && load(entry.name).has(name)) return name;
  }
  return undefined;
}

function load(packageName: string): Map<string, Schema> {
  const known = parsed.get(packageName);
  if (known !== undefined) return known;
  const entry = packageByName.get(packageName);
  if (entry === undefined) return new Map();
  const { groupVersion } = entry;
  const slash = groupVersion.indexOf("/");
  const definitions = parseDefinitions(entry.text, {
    name: packageName,
    group: groupVersion.slice(0, Math.max(slash, 0)),
    version: groupVersion.slice(slash + 1),
    packageOf: (alias) => packageByAlias.get(alias) ?? alias,
  });
  if (packageName === metaV1) shareKinds(definitions);
  parsed.set(packageName, definitions);
  return definitions;
}

function shareKinds(definitions: Map<string, Schema>): void {
  for (const kind of sharedKinds) {
    const name = `${metaV1}.${kind}`;
    const kinds = sharedGroupVersions.map((groupVersion) => {
      const slash = groupVersion.indexOf("/");
      return {
        group: groupVersion.slice(0, Math.max(slash, 0)),
        version: groupVersion.slice(slash + 1),
        kind,
      };
    });
    definitions.set(
      name,
      Object.freeze({ ...definitions.get(name), "x-kubernetes-group-version-kind": kinds }),
    );
  }
}
