/** Tells stories with one mutant: `node mutate.ts NUMBER [STORIES [SEED]]`. Ends with 0 when a story found it. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { mutants } from "./mutants.ts";

const mutant = mutants[Number(process.argv[2])];
if (!mutant) throw new Error(`there are ${mutants.length} mutants`);
const stories = Number(process.argv[3] ?? 60);
const first = Number(process.argv[4] ?? 1);
const directory = mkdtempSync(join(tmpdir(), "keelson-mutant-"));
let found: string | undefined;
try {
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }\n');
  for (const part of ["src", "test"])
    cpSync(join(import.meta.dirname, "..", part), join(directory, part), { recursive: true });
  const file = join(directory, mutant.file);
  const text = readFileSync(file, "utf8");
  if (!text.includes(mutant.from)) throw new Error(`${mutant.file} does not say: ${mutant.from}`);
  writeFileSync(
    file,
    text.replace(mutant.from, () => mutant.to),
  );
  const path = pathToFileURL(join(directory, "test/simulation/explore.ts")).href;
  const { explore } = (await import(path)) as typeof import("./simulation/explore.ts");
  const { durability = "quorum", instances = 3 } = mutant;
  for (let seed = first; seed < first + stories && found === undefined; seed++) {
    const [violation] = (await explore({ seed, durability, instances })).violations;
    if (violation !== undefined) found = `story ${seed}: ${violation}`;
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
console.log(`${mutant.name}: ${found ?? `not found in ${stories} stories`}`);
process.exitCode = found === undefined ? 1 : 0;
