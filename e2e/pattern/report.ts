/** What was shown, kept between runs, as a page of the documentation: claim → test → result. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import type { Shown } from "../promises/promises.ts";
import { descriptions } from "./claims/index.ts";

const file = join(import.meta.dirname, "results.json");
const root = join(import.meta.dirname, "../..");
const page = join(root, "docs/operator-pattern.md");

interface Result {
  readonly isKept: boolean;
  readonly measured: string;
  /** The code that it was shown with. */
  readonly commit: string;
}

type Results = Readonly<Record<string, Result>>;

/** Results of this run replace those of before. */
export function keep(shown: readonly Shown[]): void {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const changes = git("status", "--porcelain", "--", "packages", "operators", "e2e", `:!${file}`);
  const commit = `${git("rev-parse", "--short", "HEAD")}${changes === "" ? "" : "+"}`;
  const now = shown.map(({ id, isKept, measured }) => [id, { isKept, measured, commit }] as const);
  const results = { ...read(), ...Object.fromEntries(now) };
  writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(page, markdown(results));
  execFileSync("biome", ["format", "--write", page, file], { cwd: root, stdio: "ignore" });
}

function read(): Results {
  return existsSync(file) ? (parseJson(readFileSync(file, "utf8")) as unknown as Results) : {};
}

function markdown(results: Results): string {
  const all = descriptions.flatMap(({ claims }) => claims);
  const kept = all.filter(({ id }) => results[id]?.isKept).length;
  const commits = [...new Set(all.flatMap(({ id }) => results[id]?.commit ?? []))].sort();
  const sections = descriptions.map(({ claims, id, source, title }) => {
    const rows = claims.map((claim) => {
      const result = results[claim.id];
      const measured =
        result === undefined ? "not run" : `${result.isKept ? "" : "**no**: "}${cell(result.measured)}`;
      return `| ${claim.promise} | \`${claim.id}\`<br>${claim.commands.map((each) => `\`${cell(each)}\``).join("<br>")} | ${measured} |`;
    });
    return [
      `## ${title}`,
      "",
      `Claims: ${source}. \`npm run e2e:pattern -- --only ${id}\``,
      "",
      "| claim | test, and what it types | result |",
      "| --- | --- | --- |",
      ...rows,
      "",
    ].join("\n");
  });
  return `${[
    "# The operator pattern, claim by claim",
    "",
    "What the descriptions that Keelson builds on say an operator does, in our words, each with a test. The tests are in",
    "`e2e/pattern`. They type what a person types: `keelson cluster up --nodes 3`, `keelson deploy` for the operators, kubectl for",
    "the rest; the databases are real processes in pods, asked by their own tools (`redis-cli`, `etcdctl`, `psql`).",
    "",
    "```shell",
    "npm run e2e:pattern                                        # all of them; --list names them",
    "npm run e2e:pattern -- --only etcd,sampledb-delete         # a description, or single claims",
    "```",
    "",
    `${kept} of ${all.length} claims are shown, with the code of ${commits.join(", ")}.`,
    "",
    ...sections,
  ].join("\n")}`;
}

/** A table's cells are divided by bars. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
