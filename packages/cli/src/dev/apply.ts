/** Applies manifests of a file or a folder, as `kubectl apply -f` does. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@keelson/client";
import { errorText } from "@keelson/core/internal";
import { parseAllDocuments } from "yaml";
import { applyManifest } from "../deploy/apply.ts";
import { CliError } from "../errors.ts";
import type { Manifest } from "../generate/manifests.ts";

/** What became of one object, or of a file that cannot be read. */
export interface Applied {
  readonly what: string;
  /** Why it was not applied, as a sentence. */
  readonly refused?: string;
}

/** Throws in one sentence when there is nothing at the path. */
export function checkManifests(path: string): void {
  if (existsSync(path)) return;
  throw new CliError("NoManifests", `${path} does not exist; --apply takes a file or a folder of manifests`);
}

/** Every object is tried, whatever became of those before it. */
export async function applyFiles(client: Client, path: string): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const file of filesOf(path)) {
    const documents = parseAllDocuments(readFileSync(file, "utf8"));
    for (const document of documents) {
      const [error] = document.errors;
      const object = error ? undefined : (document.toJS() as Partial<Manifest> | null);
      if (error)
        applied.push({ what: file, refused: `cannot apply ${file}: ${error.message.split("\n")[0]}` });
      else if (object) applied.push(await applyOne(client, object));
    }
  }
  return applied;
}

async function applyOne(client: Client, object: Partial<Manifest>): Promise<Applied> {
  const { apiVersion = "", kind = "", metadata = { name: "" } } = object;
  const manifest = { ...object, apiVersion, kind, metadata };
  const what = `${kind} ${metadata.name ?? ""}`;
  try {
    await applyManifest(client, manifest, { fieldManager: "keelson-dev" });
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
