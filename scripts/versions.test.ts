import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./run.ts";
import { movedChangelog, movedManifest } from "./versions.ts";

const ours = new Set(["@keelson/core", "keelson", "ticket-operator"]);
const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`;

test("a package moves with what it names of ours, and with nothing else", () => {
  const manifest = (version: string) =>
    json({
      name: "keelson",
      version,
      dependencies: { "@keelson/core": version, zod: "0.1.0" },
      devDependencies: { keelson: version },
    });
  expect(movedManifest(manifest("0.1.0"), ours, "0.2.0")).toBe(manifest("0.2.0"));
});

test("a package with a version of its own keeps it", () => {
  const manifest = (version: string) =>
    json({ name: "ticket-operator", version: "1.0.0", dependencies: { keelson: version } });
  expect(movedManifest(manifest("0.1.0"), ours, "0.2.0")).toBe(manifest("0.2.0"));
});

test("the changelog gets one heading for a release", () => {
  const once = movedChangelog("# Changelog\n\n## Unreleased\n\n- new\n", "0.2.0", "2026-11-16");
  expect(once).toBe("# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-11-16)\n\n- new\n");
  expect(movedChangelog(once, "0.2.0", "2026-11-17")).toBe(once);
});

test("every package of the repository has one version", () => {
  const folders = ["packages", "operators"].flatMap((home) =>
    readdirSync(join(root, home)).map((name) => join(root, home, name, "package.json")),
  );
  const versions = folders.map(
    (file) => (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version,
  );
  expect(new Set(versions).size).toBe(1);
});
