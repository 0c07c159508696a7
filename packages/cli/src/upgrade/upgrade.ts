/** `keelson upgrade`: what a newer scaffold would write, merged with what a person made of the older one. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type JsonObject, parseJson } from "@keelson/core";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";
import type { Packages } from "../scaffold/packages.ts";
import { json } from "../scaffold/project-files.ts";
import { contentsOf, RECORD_PATH, readRecord, recordFile, type ScaffoldRecord } from "../scaffold/record.ts";
import { scaffoldFiles } from "../scaffold/scaffold-files.ts";
import { type ScaffoldFile, writeFiles } from "../scaffold/write-files.ts";
import { mergeJson } from "./merge-json.ts";
import { mergeText } from "./merge-text.ts";

export interface UpgradeOptions {
  readonly packages: Packages;
  /** The release that the project comes to. */
  readonly version: string;
  /** Writes files with marks at the places that both sides changed. */
  readonly mark: boolean;
  /** Writes nothing. */
  readonly dryRun: boolean;
}

/** What becomes of a file. `yours`: it was deleted here, and stays so. */
export interface UpgradedFile {
  readonly path: string;
  readonly state: "updated" | "added" | "unchanged" | "yours" | "conflict";
  /** Fields of a JSON document that both sides changed: yours stand. */
  readonly fields?: readonly string[];
}

export interface Upgraded {
  readonly from: string;
  readonly files: readonly UpgradedFile[];
}

interface Merged extends UpgradedFile {
  readonly write?: ScaffoldFile;
}

export function upgrade(project: Project, options: UpgradeOptions): Upgraded {
  const { directory } = project;
  const record = readRecord(directory);
  if (!record) {
    throw new CliError(
      "NoScaffold",
      `${directory} has no ${RECORD_PATH}, which says what it was made from; keelson init writes it`,
    );
  }
  const theirs = scaffoldFiles(record, options.packages);
  const merged = theirs.map((file) => mergeFile(directory, record, file, options));
  const conflicts = merged.filter(({ state }) => state === "conflict");
  if (conflicts.length > 0 && !options.mark) throw refusal(conflicts);
  if (!options.dryRun) {
    const writes = merged.flatMap(({ write }) => (write ? [write] : []));
    const next: ScaffoldRecord = { ...record, keelson: options.version, files: contentsOf(theirs) };
    writeFiles(directory, [...writes, recordFile(directory, next)]);
  }
  return { from: record.keelson, files: merged.map(({ write: _, ...file }) => file) };
}

function refusal(conflicts: readonly Merged[]): CliError {
  const places = conflicts.map(({ fields, path }) => (fields ? `${path} (${fields.join(", ")})` : path));
  return new CliError(
    "UpgradeConflict",
    `${places.join(", ")} changed here and in the new scaffold, at the same places; nothing was written: say --mark to ` +
      "have texts marked there and your own fields kept",
  );
}

function mergeFile(
  directory: string,
  record: ScaffoldRecord,
  theirs: ScaffoldFile,
  options: UpgradeOptions,
): Merged {
  const { path } = theirs;
  const base = record.files[path];
  const full = join(directory, path);
  const ours = existsSync(full) ? readFileSync(full, "utf8") : undefined;
  if (ours === undefined) {
    if (base === undefined) return { path, state: "added", write: theirs };
    return { path, state: base === theirs.content ? "unchanged" : "yours" };
  }
  const merged = path.endsWith(".json")
    ? mergeDocuments(base ?? "{}", ours, theirs.content)
    : mergeLines(base ?? "", ours, theirs.content, options.version);
  const state = merged.conflict ? "conflict" : merged.text === ours ? "unchanged" : "updated";
  return {
    path,
    state,
    ...(merged.fields ? { fields: merged.fields } : {}),
    ...(merged.text === ours ? {} : { write: { path, content: merged.text, replaces: ours } }),
  };
}

interface MergedFile {
  readonly text: string;
  readonly conflict: boolean;
  readonly fields?: readonly string[];
}

function mergeLines(base: string, ours: string, theirs: string, version: string): MergedFile {
  const { conflicts, text } = mergeText(base, ours, theirs, { ours: "yours", theirs: `keelson ${version}` });
  return { text, conflict: conflicts > 0 };
}

function mergeDocuments(base: string, ours: string, theirs: string): MergedFile {
  const [old, mine, other] = [base, ours, theirs].map((text) => parseJson(text) as JsonObject);
  if (!old || !mine || !other) return { text: ours, conflict: false };
  const { conflicts, value } = mergeJson(withOwnVersions(old, mine), mine, other);
  const text = sameJson(value, mine) ? ours : json(value);
  return { text, conflict: conflicts.length > 0, ...(conflicts.length > 0 ? { fields: conflicts } : {}) };
}

/** Which release of Keelson a project has is what an upgrade is about: a version that was set by hand is no objection. */
function withOwnVersions(base: JsonObject, ours: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const list of ["dependencies", "devDependencies", "overrides"]) {
    const [old, mine] = [base[list], ours[list]];
    if (!isFields(old) || !isFields(mine)) continue;
    const own = Object.keys(old).filter(
      (name) => /^(@keelson\/|keelson$)/.test(name) && mine[name] !== undefined,
    );
    merged[list] = { ...old, ...Object.fromEntries(own.map((name) => [name, mine[name] ?? ""])) };
  }
  return merged;
}

function isFields(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
