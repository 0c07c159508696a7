/** Applies manifests of a file or a folder, as `kubectl apply -f` does. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@keelson/client";
import type { KubeObject } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import { parseAllDocuments } from "yaml";
import { CliError } from "../errors.ts";

/** What became of one object, or of a file that cannot be read. */
export interface Applied {
  readonly what: string;
  readonly refused?: string;
}

/** Throws in one sentence when there is nothing at the path. */
export function checkManifests(path: string): void {
  if (existsSync(path)) return;
  throw new CliError("NoManifests", `${path} does not exist; --apply takes a file or a folder of manifests`);
}

const manager = "keelson-dev";

/** Every object is tried, whatever became of those before it. */
export async function applyManifests(client: Client, path: string): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const file of filesOf(path)) {
    const documents = parseAllDocuments(readFileSync(file, "utf8"));
    for (const document of documents) {
      const [error] = document.errors;
      const object = error ? undefined : (document.toJS() as KubeObject | null);
      if (error) applied.push({ what: file, refused: error.message.split("\n")[0] ?? "" });
      else if (object) applied.push(await applyOne(client, object));
    }
  }
  return applied;
}

async function applyOne(client: Client, object: KubeObject): Promise<Applied> {
  const { apiVersion = "", kind: name = "" } = object;
  const what = `${name} ${object.metadata?.name ?? ""}`;
  try {
    const kind = await client.discover(apiVersion, name);
    const namespace = kind.scope === "Namespaced" ? { namespace: client.namespace } : {};
    const metadata = { ...namespace, ...object.metadata };
    await client.kind(kind).apply({ ...object, metadata } as never, { force: true, fieldManager: manager });
    return { what };
  } catch (error) {
    return { what, refused: errorText(error) };
  }
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return globSync("**/*.{yaml,yml,json}", { cwd: path })
    .sort()
    .map((file) => join(path, file));
}
