/** Objects of YAML files, put into a cluster and taken out again. */
import { readFileSync } from "node:fs";
import { type Client, ClientError, isAlreadyExists, isNotFound } from "@keelson/client";
import type { AnyKind, KubeObject, Stored } from "@keelson/core";
import { parseAllDocuments } from "yaml";

export interface YamlObject extends KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name?: string; namespace?: string; labels?: Record<string, string> };
}

export function readObjects(file: string): YamlObject[] {
  return parseAllDocuments(readFileSync(file, "utf8"))
    .map((each) => each.toJS() as YamlObject | null)
    .filter((each): each is YamlObject => each?.kind !== undefined && each.metadata !== undefined);
}

export async function pause(ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Asks until there is an answer without a problem, and throws the last problem when the time is up. */
export async function eventually(check: () => Promise<string | undefined>, timeoutMs: number): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const problem = await check();
    if (problem === undefined) return;
    if (Date.now() > end) throw new Error(problem);
    await pause(200);
  }
}

/** Undefined while the server does not serve the kind. */
export async function kindOf(client: Client, object: YamlObject): Promise<AnyKind | undefined> {
  try {
    return await client.discover(object.apiVersion, object.kind);
  } catch (error) {
    if (error instanceof ClientError && error.code === "KindUnknown") return undefined;
    throw error;
  }
}

export function placed(kind: AnyKind, object: YamlObject, namespace: string): YamlObject {
  const metadata = { ...object.metadata };
  if (kind.scope === "Namespaced") metadata.namespace ??= namespace;
  else delete metadata.namespace;
  return { ...object, metadata };
}

/** Creates, or merges into what is there, as chainsaw applies. Waits for a kind that is about to be served. */
export async function put(
  client: Client,
  object: YamlObject,
  namespace: string,
  timeoutMs: number,
): Promise<Stored> {
  let made: Stored | undefined;
  await eventually(async () => {
    const kind = await kindOf(client, object);
    if (!kind) return `the cluster has no ${object.kind} in ${object.apiVersion}`;
    const body = placed(kind, object, namespace);
    try {
      made = (await client.kind(kind).create(body as never)) as Stored;
    } catch (error) {
      if (isNotFound(error)) return String(error);
      if (!isAlreadyExists(error)) throw error;
      const ref = body.metadata as { name: string; namespace?: string };
      made = (await client.kind(kind).patch(ref, { type: "merge", body: body as never })) as Stored;
    }
    return undefined;
  }, timeoutMs);
  return made as Stored;
}

/** Deletes, and waits until it is gone. */
export async function remove(
  client: Client,
  object: YamlObject,
  namespace: string,
  timeoutMs: number,
): Promise<void> {
  const kind = await kindOf(client, object);
  if (!kind) return;
  const { metadata } = placed(kind, object, namespace);
  const ref = metadata as { name: string; namespace?: string };
  await client.kind(kind).delete(ref);
  await eventually(async () => {
    const left = await client.kind(kind).find(ref);
    return left ? `${object.kind} ${ref.name} is still there` : undefined;
  }, timeoutMs);
}
