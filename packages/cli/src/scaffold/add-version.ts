/** Adds a version to a resource in its source file: a copy of the stored one, with conversions that a person edits. */
import { type ObjectLiteral, objectLiteralAt, type Property } from "./object-literal.ts";

/** Of a resource with one version: what belongs to that version. */
const OF_A_VERSION = [
  "spec",
  "status",
  "columns",
  "selectable",
  "scale",
  "served",
  "deprecated",
  "description",
];

/** What a file is after the change; `there` when it has the version already; undefined where its form is not understood. */
export type AddedVersion = { readonly text: string; readonly stored: string } | "there" | undefined;

/** `source` holds `export const Kind = resource({ … })`. */
export function addVersion(source: string, kind: string, version: string): AddedVersion {
  const call = new RegExp(`export const ${kind} = resource\\(`).exec(source);
  if (!call) return undefined;
  const literal = objectLiteralAt(source, call.index + call[0].length);
  if (!literal) return undefined;
  return find(literal, "versions")
    ? beside(source, literal, version)
    : besideTheOnly(source, literal, version);
}

/** `version: "v1", spec` becomes `versions: { v1: { spec }, v2: { spec } }`. */
function besideTheOnly(source: string, literal: ObjectLiteral, version: string): AddedVersion {
  const only = find(literal, "version");
  const stored = only && /^"([^"]+)"$/.exec(source.slice(only.value, only.to))?.[1];
  if (!only || stored === undefined) return undefined;
  if (stored === version) return "there";
  const parts = literal.properties.filter(({ name }) => OF_A_VERSION.includes(name));
  const names = literal.properties.filter((each) => each !== only && !parts.includes(each));
  if (!find(literal, "spec")) return undefined;
  const body = parts.map((each) => `${indent(textOf(source, each), "    ")},\n`).join("");
  const versions = [stored, version].map((name) => `    ${name}: {\n${body}    },\n`).join("");
  const text = [
    ...names.map((each) => `  ${textOf(source, each)},\n`),
    `  versions: {\n${versions}  },\n`,
    `  storage: "${stored}",\n`,
    `  conversions: {\n${conversionOf(version)}  },\n`,
  ].join("");
  return { text: `${source.slice(0, literal.from)}{\n${text}}${source.slice(literal.to + 1)}`, stored };
}

function beside(source: string, literal: ObjectLiteral, version: string): AddedVersion {
  const storage = find(literal, "storage");
  const stored = storage && /^"([^"]+)"$/.exec(source.slice(storage.value, storage.to))?.[1];
  const versions = objectIn(source, literal, "versions");
  const conversions = objectIn(source, literal, "conversions");
  if (stored === undefined || !versions) return undefined;
  if (find(versions, version)) return "there";
  const model = find(versions, stored);
  const last = versions.properties.at(-1);
  if (!model || !last || (find(literal, "conversions") && !conversions)) return undefined;
  const body = source.slice(model.value, model.to);
  const added: [at: number, text: string][] = [[last.to, `,\n    ${version}: ${body}`]];
  const converted = conversions?.properties.at(-1);
  if (converted) added.push([converted.to, `,\n${conversionOf(version).trimEnd().replace(/,$/, "")}`]);
  else {
    const at = find(literal, "conversions") ?? storage;
    added.push([at?.to ?? literal.to, `,\n  conversions: {\n${conversionOf(version)}  }`]);
  }
  const text = added
    .sort(([one], [other]) => other - one)
    .reduce((whole, [at, piece]) => whole.slice(0, at) + piece + whole.slice(at), source);
  return { text, stored };
}

function conversionOf(version: string): string {
  return `    ${version}: {
      toStored: ({ spec, status }) => ({ spec, ...(status && { status }) }),
      fromStored: ({ spec, status }) => ({ spec, ...(status && { status }) }),
    },
`;
}

function find({ properties }: ObjectLiteral, name: string): Property | undefined {
  return properties.find((each) => each.name === name);
}

function objectIn(source: string, literal: ObjectLiteral, name: string): ObjectLiteral | undefined {
  const property = find(literal, name);
  return property && objectLiteralAt(source, property.value);
}

function textOf(source: string, { from, to }: Property): string {
  return source.slice(from, to);
}

/** Deeper by this much, from the second level of the file on. */
function indent(text: string, by: string): string {
  return `  ${by}${text.replaceAll(/\n(?=.)/g, `\n${by}`)}`;
}
