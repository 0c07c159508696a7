/** Holds docs/reference to the names in the code. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { main } from "@keelson/cli/main";
import { describe, expect, it, test } from "vitest";
import { root } from "../run.ts";
import { referencePages } from "./reference.ts";
import { tableRows } from "./tables.ts";

const sources = (pattern: string) =>
  globSync(pattern, { cwd: root, exclude: (path) => /\.test(-d)?\.ts$|generated/.test(path) });
const read = (file: string) => readFileSync(join(root, file), "utf8");

describe("docs/reference", async () => {
  test.each([...(await referencePages())])("%s is current; if not: npm run docs", (path, text) => {
    expect(read(`docs/reference/${path}`)).toBe(text);
  });

  test.each(["labels.md"])("%s explains every name", (path) => {
    const rows = tableRows(`reference/${path}`);
    expect(rows.filter(({ cells }) => !cells["meaning"])).toEqual([]);
  });

  it("has the metrics of every operator that adds its own", () => {
    const adding = sources("operators/*/src/main.ts").filter((file) => /^\s*collect[,:]/m.test(read(file)));
    const sections = new Set(tableRows("reference/metrics.md").map(({ section }) => section));
    const missing = adding
      .map((file) => `${file.split("/")[1]} operator`)
      .filter((name) => !sections.has(name));
    expect(missing).toEqual([]);
  });

  it("has every reason that the runtime gives by itself", () => {
    const given = sources("packages/runtime/src/**/*.ts").flatMap((file) =>
      [...read(file).matchAll(/(?:reason: |(?:waiting|fail)\()"([A-Z]\w+)"/g)].map(([, reason]) => reason),
    );
    const listed = tableRows("reference/conditions.md").map(({ cells }) => cells["reason"]);
    expect([...new Set(given)].filter((reason) => !listed.includes(reason))).toEqual([]);
  });

  it("has every environment variable that the code reads, and no other", () => {
    const patterns = [
      /\benv\??\.([A-Z][A-Z0-9_]+)\b/g,
      /\benv\["([A-Z][A-Z0-9_]+)"\]/g,
      /\w+Variable = "([A-Z][A-Z0-9_]+)"/g,
      /"(HTTPS?_PROXY)"/g,
    ];
    const found = new Set<string>();
    // What the Job controller sets in pods is Kubernetes' own.
    for (const file of sources("{packages,operators}/!(controllers)/src/**/*.ts")) {
      const text = read(file);
      for (const pattern of patterns) for (const [, name = ""] of text.matchAll(pattern)) found.add(name);
      for (const [, names = ""] of text.matchAll(/const \{([^}]*)\} = (?:process\.)?env\b/g)) {
        for (const [name] of names.matchAll(/\b[A-Z][A-Z0-9_]+\b(?=[\s,:=]|$)/g)) found.add(name);
      }
    }
    const listed = tableRows("reference/environment.md").map(({ cells }) => cells["variable"] ?? "");
    expect(listed.sort()).toEqual([...found].sort());
  });

  test.each([
    [0, ["--version"]],
    [1, ["generate", "--directory", "/does/not/exist"]],
    [2, ["no-such-command"]],
    [2, ["cluster", "up", "--port", "none"]],
  ])("exit code %i: keelson %j", async (code, args) => {
    const { exitCode } = process;
    try {
      expect(await main(args)).toBe(code);
    } finally {
      process.exitCode = exitCode;
    }
  });
});
