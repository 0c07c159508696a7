/** YAML as the server reads it: JSON's types, and duplicate keys noticed rather than refused. */
import type { JsonValue } from "@keelson/core";
import type { Document } from "yaml";
import { maxDepth } from "../contracts/limits.ts";

/** What is wrong with a document, in words that begin with `yaml: ` or name a limit. */
export class YamlError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "YamlError";
  }
}

export interface YamlDocument {
  readonly value: JsonValue;
  /** Paths of keys given more than once. */
  readonly duplicates: readonly string[];
}

/** Faults that the server's reader has words of its own for. */
const faults = new Map([
  ["BLOCK_AS_IMPLICIT_KEY", "mapping values are not allowed in this context"],
  ["TAB_AS_INDENT", "found character that cannot start any token"],
]);

/** The first document of a text; null when there is none. The time it takes is not bounded by the text's length. */
export async function readYaml(source: string): Promise<YamlDocument> {
  const { parseAllDocuments, isMap, isSeq, isScalar, isAlias } = await import("yaml");
  // Words such as yes and on are true, as they were in YAML 1.1; times stay text, and nothing counts to sixty.
  const [document] = parseAllDocuments(source, {
    uniqueKeys: false,
    version: "1.1",
    customTags: (tags) =>
      tags.filter(
        (tag) => typeof tag === "string" || (!tag.tag.endsWith(":timestamp") && tag.format !== "TIME"),
      ),
  }) as Document.Parsed[];
  if (!document) return { value: null, duplicates: [] };
  const fault = document.errors[0];
  if (fault) throw new YamlError(`yaml: ${faults.get(fault.code) ?? fault.message.split("\n")[0]}`);
  const duplicates: string[] = [];
  const visit = (node: unknown, path: string, depth: number): void => {
    if (depth > maxDepth) throw new YamlError("exceeded max depth");
    if (isAlias(node)) return;
    if (isMap(node)) {
      const seen = new Set<string>();
      for (const { key, value } of node.items) {
        const name = String(isScalar(key) ? key.value : key);
        const at = path ? `${path}.${name}` : name;
        if (seen.has(name)) duplicates.push(at);
        seen.add(name);
        visit(value, at, depth + 1);
      }
    } else if (isSeq(node)) {
      for (const [i, item] of node.items.entries()) visit(item, `${path}[${i}]`, depth + 1);
    }
  };
  visit(document.contents, "", 0);
  try {
    const value = document.toJS({ maxAliasCount: 100 }) as JsonValue;
    return { value: value ?? null, duplicates };
  } catch (error) {
    throw new YamlError(`yaml: ${error instanceof Error ? error.message : String(error)}`);
  }
}
