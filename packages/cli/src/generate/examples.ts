/** Examples of an operator's resources: those in the project's examples folder, else the smallest that a schema allows. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "@keelson/core";
import type { Resource, StructuralSchema } from "@keelson/schema";
import { parseAllDocuments } from "yaml";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";

/** One of each version of each kind or more, in the order of the resources. */
export function examplesOf(project: Project, resources: readonly Resource[]): KubeObject[] {
  const written = readExamples(join(project.directory, "examples"));
  return resources.flatMap((resource) => {
    const { group, kind } = resource;
    const own = written.filter(
      (each) => each.kind === kind && String(each.apiVersion).startsWith(`${group}/`),
    );
    const found = own.length > 0 ? own : [smallest(resource)];
    const [first] = found;
    const missing = Object.keys(resource.versions).filter(
      (version) => !found.some((each) => each.apiVersion === `${group}/${version}`),
    );
    return [...found, ...missing.flatMap((version) => (first ? converted(resource, first, version) : []))];
  });
}

/** An example at another version, where the resource says how that is made. */
function converted(resource: Resource, example: KubeObject, version: string): KubeObject[] {
  try {
    return [resource.convert(example, version)];
  } catch {
    return [];
  }
}

function readExamples(folder: string): KubeObject[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
  return files.sort().flatMap((name) => {
    const documents = parseAllDocuments(readFileSync(join(folder, name), "utf8"));
    return ("empty" in documents ? [] : documents).flatMap((document) => {
      const [error] = document.errors;
      if (error) {
        throw new CliError("BadBundle", `${join(folder, name)} is not YAML: ${error.message}`, {
          cause: error,
        });
      }
      const object = document.toJS() as KubeObject | null;
      return object === null ? [] : [object];
    });
  });
}

function smallest(resource: Resource): KubeObject {
  const { spec } = resource.crd();
  const stored = spec.versions.find(({ storage }) => storage);
  const schema = stored?.schema.openAPIV3Schema.properties?.["spec"] ?? {};
  const { group, kind, version } = resource;
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: "example" },
    spec: smallestOf(schema),
  } as KubeObject;
}

/** What is required, and nothing else. A pattern is the author's to satisfy, in an example of the project. */
function smallestOf(schema: StructuralSchema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, smallestOf(schema.properties?.[name] ?? {})]),
      );
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => smallestOf(schema.items ?? {}));
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    case "boolean":
      return false;
    default:
      return "example".padEnd(schema.minLength ?? 0, "e").slice(0, schema.maxLength ?? undefined);
  }
}
