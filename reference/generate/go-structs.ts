// Reads from Go sources what JSON needs and protobuf files do not say: JSON names, pointers, omitempty, inlining.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface GoField {
  /** Field number of the protobuf tag. */
  readonly number: number;
  readonly jsonName: string;
  readonly goType: string;
  readonly inline: boolean;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
}

export interface GoPackage {
  /** Fields with a protobuf tag, in the order of the struct, which is the order of its JSON. */
  readonly structs: ReadonlyMap<string, readonly GoField[]>;
  /** Named slices: a message of their own in protobuf, a plain list in JSON. */
  readonly slices: ReadonlySet<string>;
  /** Types declared as another package's struct: `type MatchCondition v1.MatchCondition`. */
  readonly derived: ReadonlyMap<string, { readonly importPath: string; readonly name: string }>;
  readonly groupName: string | undefined;
}

export function readGoPackage(directory: string): GoPackage {
  const structs = new Map<string, GoField[]>();
  const slices = new Set<string>();
  const derived = new Map<string, { importPath: string; name: string }>();
  let groupName: string | undefined;
  const files = readdirSync(directory).filter(
    (name) => name.endsWith(".go") && !/_test\.go$|^generated|^zz_/.test(name),
  );
  for (const file of files.sort()) {
    let current: GoField[] | undefined;
    const imports = new Map<string, string>();
    for (const line of readFileSync(join(directory, file), "utf8").split("\n")) {
      const opened = /^type (\w+) struct \{$/.exec(line)?.[1];
      groupName ??= /^(?:const )?\s*GroupName\s*=\s*"([^"]*)"/.exec(line)?.[1];
      const [, alias, importPath] = /^(?:import )?\s*(\w+)? ?"(k8s\.io\/[\w./-]+)"$/.exec(line) ?? [];
      if (importPath !== undefined)
        imports.set(alias ?? importPath.slice(importPath.lastIndexOf("/") + 1), importPath);
      const [, type, from, name] = /^type (\w+) (\w+)\.(\w+)$/.exec(line) ?? [];
      if (type !== undefined && name !== undefined)
        derived.set(type, { importPath: imports.get(from ?? "") ?? "", name });
      const slice = /^type (\w+) \[\]/.exec(line)?.[1];
      if (slice !== undefined) slices.add(slice);
      const empty = /^type (\w+) struct ?\{ ?\}$/.exec(line)?.[1];
      if (empty !== undefined) structs.set(empty, []);
      if (opened !== undefined) {
        current = [];
        structs.set(opened, current);
      } else if (line === "}") current = undefined;
      else if (current !== undefined) {
        const field = readField(line);
        if (field !== undefined) current.push(field);
      }
    }
  }
  return { structs, slices, derived, groupName };
}

function readField(line: string): GoField | undefined {
  const [, goType, tags] = /^\s*(?:\w+\s+)?([*[\]\w.]+)\s+`([^`]*)`/.exec(line) ?? [];
  if (goType === undefined || tags === undefined) return undefined;
  const number = /protobuf:"\w+,(\d+),/.exec(tags)?.[1];
  if (number === undefined) return undefined;
  const [jsonName = "", ...options] = (/json:"([^"]*)"/.exec(tags)?.[1] ?? "").split(",");
  return {
    number: Number(number),
    jsonName,
    goType,
    inline: options.includes("inline"),
    omitEmpty: options.includes("omitempty"),
    omitZero: options.includes("omitzero"),
  };
}
