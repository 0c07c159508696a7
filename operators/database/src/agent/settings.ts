/** What an agent is told by its pod. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { StoreLocation } from "@keelson/kit/store";
import { parseKnownJson } from "../ha/json.ts";
import { defaultTimings, type Timings } from "../ha/state.ts";

/** The variable that holds the settings as JSON. */
export const settingsVariable = "KEELSON_AGENT";

export interface AgentSettings {
  readonly namespace: string;
  /** The name of the Database. */
  readonly database: string;
  readonly instance: string;
  /** The headless Service that names the instances. */
  readonly subdomain: string;
  readonly roleLabel: string;
  /** The volume. */
  readonly directory: string;
  /** Where PostgreSQL's programs are, and their major version. */
  readonly programs: string;
  readonly major: string;
  /** Where the programs of the version before are, while the data is taken from it to this one. */
  readonly oldPrograms?: string;
  readonly socketDirectory: string;
  /** Where the Secrets are mounted: `key` for agents, `replication` for standbys. */
  readonly secrets: string;
  /** Where certificates are mounted, where PostgreSQL reads them, and whether clients must use TLS. */
  readonly tls?: { readonly source: string; readonly directory: string; readonly require: boolean };
  readonly timings?: Partial<Timings>;
  readonly initdb?: readonly string[];
  /** Where this database's backups and archive lie. */
  readonly store?: StoreLocation;
  /** Whether the log is kept there too. */
  readonly archive?: boolean;
  readonly restore?: {
    /** Where the other database's backups and archive lie. */
    readonly store: StoreLocation;
    readonly backup: string;
    readonly targetTime?: string;
  };
}

export function readSettings(env: NodeJS.ProcessEnv): AgentSettings & { readonly uid: string } {
  const text = env[settingsVariable];
  const uid = env["POD_UID"];
  if (text === undefined || uid === undefined) throw new Error(`${settingsVariable} and POD_UID must be set`);
  return { ...(parseKnownJson(text) as AgentSettings), uid };
}

export function timingsOf({ timings }: AgentSettings): Timings {
  return { ...defaultTimings, ...timings };
}

export async function readSecret({ secrets }: AgentSettings, name: string): Promise<string> {
  return (await readFile(join(secrets, name), "utf8")).trim();
}
