/** Definitions in files: where each stands, and on which line a mistake is. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@keelson/core";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { type Document, LineCounter, parseAllDocuments } from "yaml";
import type { DefinitionObject } from "../api/definition.ts";
import { type GraphError, invalid, type Problem } from "../errors.ts";
import type { Path } from "../path.ts";

/** An object of a file. */
export interface FileObject {
  readonly file: string;
  readonly object: JsonObject & { readonly apiVersion: string; readonly kind: string };
  /** The line of a place in it; of the nearest that is there when it is not. */
  lineOf(path: Path): number;
}

/** A definition of a file. */
export interface FileDefinition extends Omit<FileObject, "object"> {
  readonly metadata: { readonly name: string };
  readonly spec: DefinitionObject["spec"];
}

/** What a folder holds. */
export interface DefinitionFiles {
  readonly definitions: readonly FileDefinition[];
  readonly crds: readonly CustomResourceDefinitionObject[];
  /** Everything else: instances, roles, objects of other systems. */
  readonly others: readonly FileObject[];
}

/** Reads a file, or every `.yaml`, `.yml` and `.json` of a folder and those inside it. @throws GraphError */
export function readDefinitionFiles(place: string): DefinitionFiles {
  const objects = filesOf(place).flatMap(objectsOf);
  const isDefinition = ({ object }: FileObject) =>
    object.kind === "ResourceGraphDefinition" && object.apiVersion.startsWith("kro.run/");
  const isCrd = ({ object }: FileObject) => object.kind === "CustomResourceDefinition";
  return {
    definitions: objects.filter(isDefinition).map(definitionOf),
    crds: objects.filter(isCrd).map(({ object }) => object as unknown as CustomResourceDefinitionObject),
    others: objects.filter((each) => !isDefinition(each) && !isCrd(each)),
  };
}

function filesOf(place: string): string[] {
  if (!statSync(place).isDirectory()) return [place];
  return readdirSync(place, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function objectsOf(file: string): FileObject[] {
  const counter = new LineCounter();
  const documents = parseAllDocuments(readFileSync(file, "utf8"), { lineCounter: counter });
  return (Array.isArray(documents) ? documents : []).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw invalid([], `${file}:${error.linePos?.[0].line ?? 1}: ${error.message.split("\n")[0]}`);
    const object = document.toJS() as FileObject["object"] | null;
    if (typeof object?.kind !== "string" || typeof object.apiVersion !== "string") return [];
    return [{ file, object, lineOf: (path) => lineOf(document, counter, path) }];
  });
}

function lineOf(document: Document.Parsed, counter: LineCounter, path: Path): number {
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as
      | { range?: [number, number, number] }
      | undefined;
    if (node?.range) return counter.linePos(node.range[0]).line;
  }
  return 1;
}

function definitionOf({ file, object, lineOf: find }: FileObject): FileDefinition {
  const { metadata, spec } = object as unknown as DefinitionObject;
  const name = metadata?.name;
  if (name === undefined || spec?.schema === undefined) {
    const missing = name === undefined ? "metadata.name" : "spec.schema";
    throw invalid([], `${file}:${find([])}: a ResourceGraphDefinition needs ${missing}`);
  }
  return { file, lineOf: find, metadata: { name }, spec };
}

/** The mistakes of a definition, each with its file and line: `web.yaml:23: …`. */
export function problemsInFile(
  { file, lineOf: find }: Pick<FileDefinition, "file" | "lineOf">,
  error: GraphError,
): string[] {
  return error.problems.map(({ path, message }: Problem) => `${file}:${find(path)}: ${message}`);
}
