/** kro's examples: every definition among them is applied, and is taken or refused. */
import { globSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@keelson/client";
import { CustomResourceDefinition } from "@keelson/core/kinds";
import type { CaseResult } from "./chainsaw.ts";
import { eventually, put, readObjects, remove, type YamlObject } from "./objects.ts";

interface Definition extends YamlObject {
  status?: { state?: string; conditions?: { type: string; status: string; message?: string }[] };
}

/** Files with definitions, in the order of their names. */
export function exampleFiles(checkout: string): string[] {
  return globSync("examples/**/*.yaml", { cwd: checkout })
    .filter((file) => {
      try {
        return readObjects(join(checkout, file)).some(({ kind }) => kind === "ResourceGraphDefinition");
      } catch {
        // Charts are templates and no YAML.
        return false;
      }
    })
    .sort();
}

/** The CRDs that kro's own tests install beside it. */
export function exampleCrds(checkout: string): YamlObject[] {
  return globSync("test/integration/crds/**/*.yaml", { cwd: checkout }).flatMap((file) =>
    readObjects(join(checkout, file)),
  );
}

/** As many folders are played at once. */
const atOnce = 8;

/** A definition passes when it becomes Active. Those of a folder stay while the folder is played: they use each other. */
export async function runExamples(
  client: Client,
  checkout: string,
  timeoutMs: number,
): Promise<CaseResult[]> {
  const folders = [
    ...Map.groupBy(exampleFiles(checkout), (file) => file.split("/").slice(0, 3).join("/")).values(),
  ];
  const results: CaseResult[] = [];
  while (folders.length > 0) {
    const batch = takeBatch(checkout, folders);
    results.push(
      ...(await Promise.all(batch.map((files) => playFolder(client, checkout, files, timeoutMs)))).flat(),
    );
  }
  return results;
}

/** Folders that have no definition or kind in common; they are taken out of the list. */
function takeBatch(checkout: string, folders: (readonly string[])[]): (readonly string[])[] {
  const batch: (readonly string[])[] = [];
  const names = new Set<string>();
  for (const files of [...folders]) {
    const own = files.flatMap((file) =>
      readObjects(join(checkout, file)).flatMap((object) => {
        const { spec } = object as { spec?: { schema?: { kind?: string } } };
        return [object.metadata.name ?? "", `kind ${spec?.schema?.kind}`];
      }),
    );
    if (batch.length === atOnce || own.some((name) => names.has(name))) continue;
    for (const name of own) names.add(name);
    folders.splice(folders.indexOf(files), 1);
    batch.push(files);
  }
  return batch;
}

async function playFolder(
  client: Client,
  checkout: string,
  files: readonly string[],
  timeoutMs: number,
): Promise<CaseResult[]> {
  const definitions = files.flatMap((file) =>
    readObjects(join(checkout, file))
      .filter(({ kind }) => kind === "ResourceGraphDefinition")
      .map((definition) => ({ file, definition })),
  );
  const refusals = new Map<YamlObject, string>();
  for (const { definition } of definitions) {
    await put(client, definition, "default", timeoutMs).catch((error: Error) =>
      refusals.set(definition, error.message),
    );
  }
  const results = await Promise.all(
    definitions.map(async ({ file, definition }) => {
      const refusal = refusals.get(definition);
      const name = `${file} (${definition.metadata.name})`;
      return refusal === undefined
        ? await outcome(client, name, definition, timeoutMs)
        : { name, problem: refusal };
    }),
  );
  for (const { definition } of definitions.reverse()) {
    await remove(client, definition, "default", timeoutMs).catch(() => {});
    // Its CRD stays, and another example may define the same kind.
    const labels = `kro.run/resource-graph-definition-name=${definition.metadata.name}`;
    for (const { metadata } of (await client.kind(CustomResourceDefinition).list({ labels })).items) {
      await client.kind(CustomResourceDefinition).delete(metadata);
    }
  }
  return results;
}

async function outcome(
  client: Client,
  file: string,
  definition: YamlObject,
  timeoutMs: number,
): Promise<CaseResult> {
  const name = `${file} (${definition.metadata.name})`;
  const kind = await client.discover(definition.apiVersion, definition.kind);
  const ref = { name: definition.metadata.name as string };
  let last = "it was not taken by the server";
  let since = Date.now();
  try {
    await eventually(async () => {
      const { status } = ((await client.kind(kind).find(ref)) ?? {}) as Definition;
      if (status?.state === "Active") return undefined;
      const told = status?.conditions?.find((each) => each.type === "Ready")?.message ?? last;
      if (told !== last) since = Date.now();
      last = told;
      // A refusal that stays for as long as it takes to look again is final; what is only under way is waited for.
      const isRefused = status?.conditions?.some((each) => each.status === "False") ?? false;
      if (isRefused && Date.now() - since > 15_000) throw new Error(last);
      return last;
    }, timeoutMs);
    return { name, problem: undefined };
  } catch (error) {
    return { name, problem: error instanceof Error ? error.message : String(error) };
  }
}
