/** Plays the recorded exchanges and compares: only the cases listed here may differ from the real API server. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { Clock } from "@keelson/core";
import { backgroundClock } from "@keelson/core/internal";
import { describe, expect, it } from "vitest";
import recorded from "../../../conformance/own/recorded.json" with { type: "json" };
import { startApiServer } from "../src/index.ts";

interface Suite {
  readonly name: string;
  readonly count: number;
  readonly cases: string;
  readonly golden: string;
  /** The cases that differ, and why. Whatever else differs is a regression; what agrees again leaves the list. */
  readonly differences: Readonly<Record<string, string>>;
}

const suites: readonly Suite[] = [
  {
    name: "given",
    count: 220,
    cases: "cases",
    golden: "golden",
    differences: {
      "streamed list: initial events and the bookmark that ends them":
        "was recorded on an etcd too old for it: a 500, where the real server on a current etcd streams, as ours does",
    },
  },
  {
    name: "our own",
    count: 999,
    cases: "own/cases",
    golden: "own/golden",
    differences: {
      "ValidatingWebhookConfiguration admissionregistration.k8s.io/v1 create: the smallest valid object, update and apply":
        "an empty list of webhooks that is applied counts as a change on the real server",
      "MutatingWebhookConfiguration admissionregistration.k8s.io/v1 create: the smallest valid object, update and apply":
        "an empty list of webhooks that is applied counts as a change on the real server",
      "CustomResourceDefinition delete: objects with finalizers":
        "the real server serves the path of a deleted definition a moment longer: object not found, not path not found",
      "Deployment strategic merge patch: $setElementOrder, also malformed":
        "the real server answers 500 to $setElementOrder without a list, ours 400",
      "Widget patch: all forms, valid and invalid":
        "a patch to a version that does not exist carries a warning on the real server",
      "persistentvolumeclaims listwatch: a write that changes nothing makes no event":
        "the first patch of a claim makes an event on the real server, although nothing changes",
    },
  },
];

interface Result {
  readonly name: string;
  readonly ok: boolean;
  readonly problems: readonly string[];
}

const folder = resolve(import.meta.dirname, "../../../conformance");
const run = promisify(execFile);

/**
 * Time is frozen at the day of the recording: tables show ages in days, and entries of managedFields are ordered by the
 * second of their last change. Timers are real.
 */
const instant = Date.parse(recorded.at);
const frozen: Clock = { ...backgroundClock, now: () => instant };

/** Cases wait more than they work (for watches to end, for time to pass), so their files are played side by side. */
const atOnce = 8;

describe("the recorded answers of the real API server", () => {
  it.each(suites)("agree in every case but those listed: $name", { timeout: 240_000 }, async (suite) => {
    const results = await playAll(suite);
    const differing = results.filter((result) => !result.ok);
    const unexpected = differing.filter((result) => suite.differences[result.name] === undefined);
    expect(unexpected, "differ and are not listed").toEqual([]);
    const agreeing = results.filter((result) => result.ok && suite.differences[result.name] !== undefined);
    expect(agreeing, "are listed and agree").toEqual([]);
    expect(differing).toHaveLength(Object.keys(suite.differences).length);
    expect(results).toHaveLength(suite.count);
  });

  it("have one case each, and our own cases have unique names", async () => {
    const titles: string[] = [];
    for (const part of await partsOf("own/cases")) {
      const file = pathToFileURL(resolve(folder, "own/cases", `${part}.mjs`));
      const { default: cases } = (await import(file.href)) as { default: { name: string; title?: string }[] };
      const golden = JSON.parse(await readFile(resolve(folder, "own/golden", `${part}.json`), "utf8"));
      expect(cases.map((each) => each.name).sort(), part).toEqual(Object.keys(golden).sort());
      titles.push(...cases.map((each) => each.title ?? each.name));
    }
    expect(new Set(titles).size).toBe(titles.length);
    const renamed = JSON.parse(await readFile(resolve(folder, "own/recorded-names.json"), "utf8"));
    expect(Object.keys(renamed).filter((title) => !titles.includes(title))).toEqual([]);
  });
});

/** The names of the files with cases; one that begins with `_` holds none. */
async function partsOf(cases: string): Promise<string[]> {
  const files = await readdir(resolve(folder, cases));
  return files.filter((file) => /^[^_].*\.mjs$/.test(file)).map((file) => file.replace(/\.mjs$/, ""));
}

async function playAll(suite: Suite): Promise<Result[]> {
  const waiting = await partsOf(suite.cases);
  const reports = await mkdtemp(join(tmpdir(), "conformance-"));
  const results: Result[] = [];
  const player = async () => {
    for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
      results.push(...(await play(suite, part, join(reports, `${part}.json`))));
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, player));
  } finally {
    await rm(reports, { recursive: true });
  }
  return results;
}

async function play({ cases, golden }: Suite, part: string, report: string): Promise<Result[]> {
  await using server = await startApiServer({ port: 0, token: "admin-token" }, { clock: frozen });
  const access = ["--server", server.address, "--token", "admin-token", "--insecure"];
  const what = ["--cases", cases, "--golden", golden, "--only", part, "--json", report];
  const options = { cwd: folder, maxBuffer: 1 << 26 };
  // The runner exits with 1 when a case differs; without a report it broke off, and reading fails with its output.
  const output = await run(process.execPath, ["run.mjs", ...access, ...what], options).catch(
    (error) => error,
  );
  const text = await readFile(report, "utf8").catch(() => {
    throw new Error(`the runner left no report for ${part}: ${output.stderr ?? output}`);
  });
  return JSON.parse(text) as Result[];
}
