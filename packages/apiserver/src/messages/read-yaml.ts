/** YAML as the server reads it: JSON's types, and duplicate keys noticed rather than refused. */
import type { JsonValue } from "@keelson/core";
import type { Document } from "yaml";
import { goQuote } from "../contracts/field-error.ts";
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
  /** Keys given more than once, as `line 5: key "name" already set in map`. */
  readonly repeated: readonly string[];
}

/** Faults that the server's reader has words of its own for. */
const faults = new Map([
  ["BLOCK_AS_IMPLICIT_KEY", "mapping values are not allowed in this context"],
  ["TAB_AS_INDENT", "found character that cannot start any token"],
]);

/** The first document of a text; null when there is none. The time it takes is not bounded by the text's length. */
export async function readYaml(source: string): Promise<YamlDocument> {
  const { parseAllDocuments, isMap, isSeq, isScalar, isNode, isAlias, LineCounter } = await import("yaml");
  const lines = new LineCounter();
  // Words such as yes and on are true, as they were in YAML 1.1; times stay text, and nothing counts to sixty.
  const [document] = parseAllDocuments(source, {
    uniqueKeys: false,
    lineCounter: lines,
    version: "1.1",
    customTags: (tags) =>
      tags.filter(
        (tag) => typeof tag === "string" || (!tag.tag.endsWith(":timestamp") && tag.format !== "TIME"),
      ),
  }) as Document.Parsed[];
  if (!document) return { value: null, repeated: [] };
  const fault = document.errors[0];
  if (fault) throw new YamlError(`yaml: ${faults.get(fault.code) ?? fault.message.split("\n")[0]}`);
  const repeated: string[] = [];
  const visit = (node: unknown, depth: number): void => {
    if (depth > maxDepth) throw new YamlError("exceeded max depth");
    if (isAlias(node)) return;
    if (isMap(node)) {
      const seen = new Set<string>();
      for (const { key, value } of node.items) {
        // A key is set when its value has been read.
        visit(value, depth + 1);
        const plain = isScalar(key) ? key.value : key;
        const name = String(plain);
        if (seen.has(name)) {
          const at = isNode(value) ? value.range?.[0] : isNode(key) ? key.range?.[1] : undefined;
          const shown = typeof plain === "string" ? goQuote(plain) : name;
          repeated.push(`line ${lines.linePos(at ?? 0).line}: key ${shown} already set in map`);
        }
        seen.add(name);
      }
    } else if (isSeq(node)) {
      for (const item of node.items) visit(item, depth + 1);
    }
  };
  visit(document.contents, 0);
  try {
    const value = document.toJS({ maxAliasCount: 100 }) as JsonValue;
    return { value: value ?? null, repeated };
  } catch (error) {
    throw new YamlError(`yaml: ${error instanceof Error ? error.message : String(error)}`);
  }
}
