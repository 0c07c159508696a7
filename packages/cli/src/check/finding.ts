/** What `keelson check` finds, and how it says so. */

/** An error would break someone; a warning is worth a look. */
export type Severity = "error" | "warning";

/** One finding, with its place and what to do about it. */
export interface Finding {
  /** Stable, to be told apart by programs: `removed-field`. */
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  readonly fix: string;
  /** Relative to the project; absent where no file is to blame. */
  readonly file?: string;
  readonly line?: number;
}

/** A finding about a field of a resource, before it has its place in a file. */
export interface FieldFinding extends Omit<Finding, "file" | "line"> {
  readonly kind: string;
  /** Names of fields from the top: `["spec", "size"]`; `[]` for items of lists and `*` for values of maps. */
  readonly path: readonly string[];
}

/** `spec.members[].name` */
export function showPath(path: readonly string[]): string {
  return path.join(".").replaceAll(".[]", "[]");
}

export function showFinding({ file, fix, line, message, rule, severity }: Finding): string {
  const place = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `;
  return `${place}${severity}: ${message} (${rule})\n  ${fix}\n`;
}
