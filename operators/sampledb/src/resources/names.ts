/** How things are called. */

import { adoptAnnotation } from "keelson";
import { labels } from "../api/names.ts";
import type { SampleDBObject } from "../api/sampledb.ts";

/** What names are made from. */
export interface DatabaseName {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export function databaseName({ metadata }: SampleDBObject): DatabaseName {
  const { name, namespace = "default", uid } = metadata;
  return { name, namespace, uid };
}

/** Tells this database from others that had its name. */
export function ownId({ uid }: Pick<DatabaseName, "uid">): string {
  return uid.slice(0, 8);
}

/** The objects of one database, by what they are for. */
export function objectNames({ name }: Pick<DatabaseName, "name">) {
  return {
    statefulSet: name,
    /** Names every server, ready or not. */
    servers: `${name}-servers`,
    writes: name,
    reads: `${name}-read`,
    config: `${name}-config`,
    credentials: `${name}-credentials`,
    /** Passwords between the servers and the operator. */
    internal: `${name}-internal`,
    acl: `${name}-acl`,
    binding: `${name}-binding`,
    authority: `${name}-ca`,
    certificate: `${name}-tls`,
    backups: `${name}-backups`,
    primaryBudget: `${name}-primary`,
    replicaBudget: `${name}-replicas`,
    trial: `${name}-trial`,
  } as const;
}

/** The Secret with the certificate that servers are to present; undefined without TLS. */
export function tlsSecretName(
  database: Pick<DatabaseName, "name">,
  { tls }: Pick<SampleDBObject["spec"], "tls">,
): string | undefined {
  return tls && (tls.secretName ?? objectNames(database).certificate);
}

export function serverName({ name }: Pick<DatabaseName, "name">, ordinal: number): string {
  return `${name}-${ordinal}`;
}

export function ordinalOf({ name }: Pick<DatabaseName, "name">, server: string): number | undefined {
  const rest = server.startsWith(`${name}-`) ? server.slice(name.length + 1) : "";
  return /^(0|[1-9][0-9]*)$/.test(rest) ? Number(rest) : undefined;
}

/** The claim of a server, as a StatefulSet names it. */
export function claimName(database: Pick<DatabaseName, "name">, ordinal: number): string {
  return `data-${serverName(database, ordinal)}`;
}

/** The number of the server whose claim has this name: a person may have changed the label that says it. */
export function ordinalOfClaim(claim: string): number | undefined {
  const digits = /^data-.+-(0|[1-9][0-9]*)$/.exec(claim)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function serverHost(database: DatabaseName, server: string): string {
  return `${server}.${objectNames(database).servers}.${database.namespace}.svc`;
}

export function serviceHost(database: DatabaseName, service: string): string {
  return `${service}.${database.namespace}.svc`;
}

/** On everything; pods are selected by them. */
export function selectorLabels({ name }: Pick<DatabaseName, "name">): Record<string, string> {
  return { [labels.name]: "sampledb", [labels.instance]: name };
}

/** On children with an owner: a SampleDB that is made again after `--cascade=orphan` takes them over. */
export function adoptable({ name }: Pick<DatabaseName, "name">): Record<string, string> {
  return { [adoptAnnotation]: name };
}
