// What two releases of Kubernetes serve differently: resources that came and went, fields that came and went.
import type { JsonMap } from "../generate/json.ts";

/** What a release says about itself. */
export interface Served {
  /** Resources and subresources by group-version and name, as `apps/v1 deployments/scale`. */
  readonly resources: ReadonlySet<string>;
  /** Schemas by their full name. */
  readonly definitions: ReadonlyMap<string, JsonMap>;
}

export interface Differences {
  readonly newResources: readonly string[];
  readonly goneResources: readonly string[];
  /** Of types that both have, as `core.v1.PodSpec.hostname`. */
  readonly newFields: readonly string[];
  readonly goneFields: readonly string[];
}

export function compare(before: Served, after: Served): Differences {
  const fieldsBefore = fieldsOf(before, after);
  const fieldsAfter = fieldsOf(after, before);
  return {
    newResources: without(after.resources, before.resources),
    goneResources: without(before.resources, after.resources),
    newFields: without(fieldsAfter, fieldsBefore),
    goneFields: without(fieldsBefore, fieldsAfter),
  };
}

/** The fields of the types that the other one has too. */
function fieldsOf({ definitions }: Served, other: Served): ReadonlySet<string> {
  const fields = new Set<string>();
  for (const [name, schema] of definitions) {
    if (!other.definitions.has(name)) continue;
    for (const field of Object.keys((schema.properties ?? {}) as JsonMap))
      fields.add(`${shortName(name)}.${field}`);
  }
  return fields;
}

/** `core.v1.Pod` for `io.k8s.api.core.v1.Pod`. */
function shortName(name: string): string {
  return name.replace(/^io\.k8s\.(api\.|.*\.pkg\.apis\.)/, "");
}

function without(some: ReadonlySet<string>, others: ReadonlySet<string>): string[] {
  return [...some].filter((one) => !others.has(one)).sort();
}

/** Lines of Markdown. */
export function report(names: readonly [string, string], differences: Differences): string[] {
  const { newResources, goneResources, newFields, goneFields } = differences;
  const section = (title: string, entries: readonly string[]) => [
    "",
    `${title}: ${entries.length}`,
    "",
    ...entries.map((entry) => `- \`${entry}\``),
  ];
  return [
    `From Kubernetes ${names[0]} to ${names[1]}`,
    ...section("New resources", newResources),
    ...section("Gone resources", goneResources),
    ...section("New fields of types that both have", newFields),
    ...section("Gone fields", goneFields),
  ];
}
