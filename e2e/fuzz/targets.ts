/** Where requests can go: the operations of the server's own OpenAPI document. */
import type { Schema, Schemas } from "./values.ts";

export interface Target {
  /** With `{namespace}` and `{name}` where they belong. */
  readonly path: string;
  readonly method: string;
  /** What a body is to look like; undefined where none is known. */
  readonly schema: Schema | undefined;
  readonly schemas: Schemas;
  readonly apiVersion: string;
  readonly kind: string;
}

interface Operation {
  readonly "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation | undefined>>>>;
  readonly components?: { readonly schemas?: Schemas };
}

const methods = ["get", "post", "put", "patch", "delete"];

export async function readTargets(ask: (path: string) => Promise<unknown>): Promise<Target[]> {
  const index = (await ask("/openapi/v3")) as { paths: Record<string, { serverRelativeURL: string }> };
  const targets: Target[] = [];
  for (const { serverRelativeURL } of Object.values(index.paths))
    targets.push(...targetsOf((await ask(serverRelativeURL)) as Document));
  return targets;
}

function targetsOf({ paths, components }: Document): Target[] {
  const schemas = components?.schemas ?? {};
  const byKind = new Map<string, Schema>();
  for (const schema of Object.values(schemas))
    for (const { group, version, kind } of schema["x-kubernetes-group-version-kind"] ?? [])
      byKind.set(`${group}/${version}/${kind}`, schema);
  const targets: Target[] = [];
  for (const [path, operations] of Object.entries(paths))
    for (const method of methods) {
      const operation = operations[method];
      if (!operation) continue;
      const { group = "", version = "", kind = "" } = operation["x-kubernetes-group-version-kind"] ?? {};
      targets.push({
        path,
        method: method.toUpperCase(),
        schema: byKind.get(`${group}/${version}/${kind}`),
        schemas,
        apiVersion: group ? `${group}/${version}` : version,
        kind,
      });
    }
  return targets;
}
