/** How things are called. */
import type { DatabaseObject } from "../api/database.ts";
import { labels } from "../api/names.ts";

export const postgresPort = 5432;

export interface DatabaseName {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export function databaseName({ metadata }: DatabaseObject): DatabaseName {
  const { name, namespace = "default", uid } = metadata;
  return { name, namespace, uid };
}

export function instanceName({ name }: DatabaseName, ordinal: number): string {
  return `${name}-${ordinal}`;
}

/** The key of an instance's pod and claim in their slots. */
export function instanceKey({ name }: DatabaseName, instance: string): string {
  return instance.slice(name.length + 1);
}

export function selectorLabels({ name }: DatabaseName): { [label: string]: string } {
  return { [labels.name]: "postgresql", [labels.instance]: name };
}

/** The headless Service that names every instance, ready or not. */
export function instancesService({ name }: DatabaseName): string {
  return `${name}-instances`;
}

/** What agents and standbys share. */
export function agentSecret({ name }: DatabaseName): string {
  return `${name}-agent`;
}

/** The authority that signs the servers' certificates, with its key: nobody mounts it. */
export function authoritySecret({ name }: DatabaseName): string {
  return `${name}-ca`;
}

/** What servers present, and whom they trust. */
export function tlsSecret({ name }: DatabaseName): string {
  return `${name}-tls`;
}

export function poolerName({ name }: Pick<DatabaseName, "name">): string {
  return `${name}-pooler`;
}

/** The headless Service that names every pooler. */
export function poolersService({ name }: Pick<DatabaseName, "name">): string {
  return `${name}-poolers`;
}

export function agentAccount({ name }: DatabaseName): string {
  return `${name}-agent`;
}

export function roleSecret({ name }: DatabaseName, role: string): string {
  return `${name}-${role.toLowerCase().replace(/[^a-z0-9-]/g, "-")}`;
}
