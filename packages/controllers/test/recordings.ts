/**
 * The recordings of our own controller scenarios. They are kept as they were made, several controllers in one file,
 * while the scenarios are arranged by controller and have been renamed since.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";

type Recording = Record<string, unknown>;

const here = import.meta.dirname;
const read = (file: string) => JSON.parse(readFileSync(file, "utf8")) as Recording;
const write = (file: string, recording: Recording) =>
  writeFileSync(file, `${JSON.stringify(recording, null, 1)}\n`);

export const scenarioFolder = join(here, "scenarios");
const goldenFolder = join(here, "golden");

/** From a scenario's name to the name that it has in its recording, where the two differ. */
export const recordedNames = read(join(here, "recorded-names.json")) as Readonly<Record<string, string>>;

/** The names of the scenarios of each controller. */
export async function scenarios(): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const file of readdirSync(scenarioFolder).filter((each) => /^[^_].*\.mjs$/.test(each))) {
    const module = await import(pathToFileURL(join(scenarioFolder, file)).href);
    const names = (module.default as { name: string }[]).map((each) => each.name);
    found.set(file.replace(/\.mjs$/, ""), names);
  }
  return found;
}

/** Every recording file with what it holds. */
export function recordings(folder = goldenFolder): Map<string, Recording> {
  return new Map(readdirSync(folder).map((file) => [join(folder, file), read(join(folder, file))]));
}

/** Writes the recordings to a folder as the runner wants them: a file per controller, with the names of today. */
export async function arrange(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const all = Object.assign({}, ...recordings().values()) as Recording;
  for (const [controller, names] of await scenarios()) {
    const arranged = names.map((name) => [name, all[recordedNames[name] ?? name]]);
    write(join(folder, `${controller}.json`), Object.fromEntries(arranged));
  }
}

/**
 * Takes what the runner recorded in such a folder back into the recordings. A new scenario goes to a file named by its
 * controller; a file in which nothing changed is not written.
 */
export function takeBack(folder: string, golden = goldenFolder): void {
  const files = recordings(golden);
  const changed = new Set<string>();
  for (const arranged of readdirSync(folder)) {
    for (const [name, shots] of Object.entries(read(join(folder, arranged)))) {
      const recorded = recordedNames[name] ?? name;
      const known = [...files].find(([, recording]) => recorded in recording)?.[0];
      const file = known ?? join(golden, arranged);
      const recording = files.get(file) ?? {};
      if (isDeepStrictEqual(recording[recorded], shots)) continue;
      recording[recorded] = shots;
      files.set(file, recording);
      changed.add(file);
    }
  }
  for (const file of changed) write(file, files.get(file) ?? {});
}
