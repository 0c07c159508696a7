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

/** Migrations for a newer Redis than the one that runs are left to its upgrade. */
export function initialization(spec: Spec, version: string, users: readonly string[]): Initialization {
  const { functions, commands } = spec.initialize;
  const migrations = spec.migrations
    .filter(({ since }) => since === undefined || compareVersions(since, version) <= 0)
    .map(({ version: number, name, script }) => ({ version: number, name, script }))
    .sort((a, b) => a.version - b.version);
  return { functions, commands, migrations, users };
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

export function newestMigration({ migrations }: Initialization): number {
  return migrations.at(-1)?.version ?? 0;
}
