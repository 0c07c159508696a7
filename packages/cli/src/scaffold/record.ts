/** What a project was made from, kept in the project: `keelson upgrade` merges a newer scaffold by it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import type { Template } from "./templates.ts";
import type { ScaffoldFile } from "./write-files.ts";

/** One resource of a scaffold. */
export interface PlannedApi {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  readonly template: Template;
}

export interface ScaffoldRecord {
  /** The release of Keelson that wrote the files. */
  readonly keelson: string;
  readonly name: string;
  readonly apis: readonly PlannedApi[];
  /** Kinds that a webhook was made for. */
  readonly webhooks: readonly string[];
  /** Each file as it was written, by its path. */
  readonly files: Readonly<Record<string, string>>;
}

/** It is committed; what else is in its folder is not. */
export const RECORD_PATH = ".keelson/scaffold.json";

/** Undefined in a project that has none. */
export function readRecord(directory: string): ScaffoldRecord | undefined {
  const path = join(directory, RECORD_PATH);
  if (!existsSync(path)) return undefined;
  return parseJson(readFileSync(path, "utf8")) as unknown as ScaffoldRecord;
}

/** The record as a file of the scaffold, in place of the one that is there. */
export function recordFile(directory: string, record: ScaffoldRecord): ScaffoldFile {
  const path = join(directory, RECORD_PATH);
  const before = existsSync(path) ? { replaces: readFileSync(path, "utf8") } : {};
  return { path: RECORD_PATH, content: `${JSON.stringify(record, undefined, 2)}\n`, ...before };
}

/** The record with new files and other changes; none in a project that has no record. */
export function recorded(
  directory: string,
  files: readonly ScaffoldFile[],
  change: (record: ScaffoldRecord) => Partial<ScaffoldRecord>,
): ScaffoldFile[] {
  const record = readRecord(directory);
  if (!record) return [];
  const changed = change(record);
  const next = {
    ...record,
    ...changed,
    files: { ...record.files, ...contentsOf(files), ...changed.files },
  };
  return [recordFile(directory, next)];
}

/** Files by their path. */
export function contentsOf(files: readonly ScaffoldFile[]): Record<string, string> {
  return Object.fromEntries(files.map(({ content, path }) => [path, content]));
}

/** The entry as the scaffold would have it after an addition, whatever a person made of it since. */
export function changedEntry(
  files: ScaffoldRecord["files"],
  entry: string,
  change: (text: string) => string | undefined,
): Record<string, string> {
  const before = files[entry];
  const after = before === undefined ? undefined : (change(before) ?? before);
  return after === undefined ? {} : { [entry]: after };
}
