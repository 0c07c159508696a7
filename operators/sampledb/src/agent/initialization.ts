/** What the Job of the initial configuration applies, and its name: the digest of that. Pure. */
import { hash } from "node:crypto";
import type { Spec } from "../api/sampledb.ts";
import { compareVersions } from "../engine/version.ts";

export interface Initialization {
  readonly functions: readonly string[];
  readonly commands: readonly (readonly string[])[];
  readonly migrations: readonly {
    readonly version: number;
    readonly name: string;
    readonly script: string;
  }[];
  /** Lines of an ACL file; passwords are digests. */
  readonly users: readonly string[];
}

/**
 * Migrations for a newer Redis than the one that runs are left to its upgrade, and so is every one after them: it may be
 * written for what they make.
 */
export function initialization(spec: Spec, version: string, users: readonly string[]): Initialization {
  const { functions, commands } = spec.initialize;
  const inOrder = inOrderOf(spec);
  const migrations = inOrder
    .slice(0, firstTooNew(inOrder, version))
    .map(({ version: number, name, script }) => ({ version: number, name, script }));
  return { functions, commands, migrations, users };
}

/** The migration that waits for a newer Redis than this one, and the versions of those that wait for it. */
export function waitingMigrations(
  spec: Pick<Spec, "migrations">,
  version: string,
): { readonly since: string; readonly version: number; readonly behind: readonly number[] } | undefined {
  const inOrder = inOrderOf(spec);
  const [first, ...behind] = inOrder.slice(firstTooNew(inOrder, version));
  return first?.since === undefined
    ? undefined
    : { since: first.since, version: first.version, behind: behind.map((each) => each.version) };
}

function inOrderOf({ migrations }: Pick<Spec, "migrations">): Spec["migrations"] {
  return [...migrations].sort((a, b) => a.version - b.version);
}

function firstTooNew(inOrder: Spec["migrations"], version: string): number {
  const at = inOrder.findIndex(({ since }) => since !== undefined && compareVersions(since, version) > 0);
  return at < 0 ? inOrder.length : at;
}

/** Passwords change without a Job: servers are told at once. */
export function initializationHash({ functions, commands, migrations, users }: Initialization): string {
  const names = users.map((line) =>
    line
      .split(" ")
      .filter((word) => !word.startsWith("#"))
      .join(" "),
  );
  return hash("sha256", JSON.stringify([functions, commands, migrations, names])).slice(0, 12);
}

/** Of the Job that applies it. */
export function initializationKey(digest: string): string {
  return `${initializationPrefix}${digest}`;
}

export const initializationPrefix = "init-";
