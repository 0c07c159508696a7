/** The ConfigMap: Redis' configuration, how servers start, and where clients connect. */
import type { Desired } from "keelson";
import type { ConfigMap } from "keelson/kinds";
import type { Spec } from "../api/sampledb.ts";
import { redisPort } from "../engine/redis.ts";
import {
  type DatabaseName,
  objectNames,
  selectorLabels,
  serverHost,
  serverName,
  serviceHost,
} from "./names.ts";
import { redisConf } from "./settings.ts";
import { planKey, planText, startScript, type VolumePlan } from "./start-script.ts";

export interface ConfigOptions {
  readonly database: DatabaseName;
  readonly spec: Spec;
  /** What servers do with their volumes at their next start, by server. */
  readonly plans: ReadonlyMap<string, VolumePlan>;
  /** The file that servers start with, as long as that of the spec was not tried. */
  readonly kept?: string | undefined;
  /** How many servers there are. */
  readonly servers: number;
  /** What the Job of the initial configuration applies. */
  readonly initialize: string;
}

export function configMap({
  database,
  spec,
  plans,
  servers,
  initialize,
  kept,
}: ConfigOptions): Desired<typeof ConfigMap> {
  const { config, writes, reads } = objectNames(database);
  return {
    metadata: { name: config, labels: selectorLabels(database) },
    data: {
      "redis.conf": kept ?? redisConf(spec),
      "start.sh": startScript,
      "initialize.json": initialize,
      host: serviceHost(database, writes),
      "host-read": serviceHost(database, reads),
      ...connection(database, servers),
      ...Object.fromEntries([...plans].map(([server, plan]) => [planKey(server), planText(plan)])),
    },
  };
}

/** Enough for the pod that takes the last snapshot. No server starts with it. */
export function lastConfigMap(database: DatabaseName, servers: number): Desired<typeof ConfigMap> {
  const metadata = { name: objectNames(database).config, labels: selectorLabels(database) };
  return { metadata, data: connection(database, servers) };
}

/** What pods of ours take as their environment. */
function connection(database: DatabaseName, servers: number) {
  const hosts = Array.from({ length: servers }, (_, ordinal) =>
    serverHost(database, serverName(database, ordinal)),
  );
  return { port: String(redisPort), hosts: hosts.join(",") };
}
