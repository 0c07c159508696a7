import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { arrange, recordedNames, recordings, scenarios, takeBack } from "./recordings.ts";

describe("the recordings of the controllers' scenarios", () => {
  it("have one scenario each, whose name is unique", async () => {
    const names = [...(await scenarios()).values()].flat();
    expect(new Set(names).size).toBe(names.length);
    const recorded = [...recordings().values()].flatMap((recording) => Object.keys(recording));
    expect(names.map((name) => recordedNames[name] ?? name).sort()).toEqual(recorded.sort());
    expect(Object.keys(recordedNames).filter((name) => !names.includes(name))).toEqual([]);
  });

  it("are arranged by controller for the runner, and only what it recorded differently changes them", async () => {
    const folder = await mkdtemp(join(tmpdir(), "recordings-"));
    try {
      const [arranged, golden] = [join(folder, "arranged"), join(folder, "golden")];
      await cp(join(import.meta.dirname, "golden"), golden, { recursive: true });
      const texts = async () =>
        Promise.all((await readdir(golden)).map((file) => readFile(join(golden, file), "utf8")));
      const before = await texts();
      await arrange(arranged);
      takeBack(arranged, golden);
      expect((await texts()).map((text, index) => text === before[index])).not.toContain(false);

      const jobs = JSON.parse(await readFile(join(arranged, "job.json"), "utf8"));
      await writeFile(join(arranged, "job.json"), JSON.stringify({ ...jobs, "Job: parallelism 0": [] }));
      takeBack(arranged, golden);
      const changed = [...recordings(golden).values()].filter((recording) => recording["no parallelism"]);
      expect(changed.map((recording) => recording["no parallelism"])).toEqual([[]]);
      expect((await texts()).filter((text, index) => text !== before[index])).toHaveLength(1);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
