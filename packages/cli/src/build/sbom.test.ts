import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readProject } from "../project.ts";
import { sbomOf } from "./sbom.ts";

test("a bill of materials lists each package once, with its license, and does not change by itself", () => {
  const directory = mkdtempSync(join(tmpdir(), "keelson-sbom-"));
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  };
  try {
    put(
      "package.json",
      JSON.stringify({ name: "op", version: "1.0.0", dependencies: { "@a/b": "1", c: "1" } }),
    );
    put(
      "node_modules/@a/b/package.json",
      JSON.stringify({ name: "@a/b", version: "1.1.0", license: "MIT", dependencies: { c: "2" } }),
    );
    put("node_modules/@a/b/node_modules/c/package.json", JSON.stringify({ name: "c", version: "2.0.0" }));
    put("node_modules/c/package.json", JSON.stringify({ name: "c", version: "1.0.0" }));
    put("root/nodejs/bin/node", "");
    put("root/var/lib/dpkg/status.d/libstdc++6", "Package: libstdc++6\nVersion: 12.2.0-14\n");
    const text = sbomOf(readProject(directory), join(directory, "root"));
    expect(sbomOf(readProject(directory), join(directory, "root"))).toBe(text);
    const sbom = JSON.parse(text) as {
      serialNumber: string;
      components: { purl: string; licenses?: object }[];
    };
    expect(sbom.components.map(({ licenses, purl }) => [purl, licenses])).toEqual([
      ["pkg:npm/%40a/b@1.1.0", [{ expression: "MIT" }]],
      ["pkg:npm/c@1.0.0", undefined],
      ["pkg:npm/c@2.0.0", undefined],
      [`pkg:generic/node@${process.versions.node}`, undefined],
      ["pkg:deb/debian/libstdc%2B%2B6@12.2.0-14", undefined],
    ]);
    expect(sbom.serialNumber).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});
