/** Holds docs/reference/files.md to what a cluster really writes, and reads its log by the page's description alone. */
import { globSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { startCluster } from "@keelson/cluster";
import { ConfigMap } from "@keelson/core/kinds";
import { describe, expect, it } from "vitest";
import { root } from "../run.ts";
import { tableRows } from "./tables.ts";

const rows = tableRows("reference/files.md");
const listed = (section: string, column: string) =>
  rows.flatMap((row) => (row.section === section && row.cells[column] ? [row.cells[column]] : []));

interface Entry {
  readonly r: number;
  readonly t: string;
  readonly k: string;
  readonly o?: { readonly metadata: { readonly resourceVersion: string } };
}

/** As the page describes it, with nothing of ours. */
function readLog(bytes: Buffer): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at + 8 <= bytes.length && bytes.readUInt32LE(at) > 0; ) {
    const content = bytes.subarray(at + 8, at + 8 + bytes.readUInt32LE(at));
    expect(bytes.readUInt32LE(at + 4)).toBe(crc32(content));
    entries.push(
      ...content
        .toString()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Entry),
    );
    at += 8 + content.length;
  }
  return entries;
}

describe("docs/reference/files.md", () => {
  it("describes every file of a data directory and its log", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "files-"));
    const created = { namespace: "default", name: "kept" };
    try {
      let locked: string[];
      {
        await using cluster = await startCluster({ nodes: 1, simulate: "always", dataDir });
        await cluster.client.kind(ConfigMap).create({ metadata: created, data: { k: "v" } });
        await cluster.client.kind(ConfigMap).delete(created);
        locked = filesBelow(dataDir);
        const config = JSON.parse(readFileSync(cluster.kubeconfig, "utf8"));
        expect(statSync(cluster.kubeconfig).mode & 0o777).toBe(0o600);
        expect(Object.keys(config.clusters[0].cluster)).toEqual(["server", "certificate-authority-data"]);
        expect([config.clusters[0].name, config["current-context"]]).toEqual(["keelson", "keelson"]);
        expect(config.users).toEqual([{ name: "admin", user: { token: cluster.token } }]);
      }
      const patterns = listed("The data directory", "file").map(
        (file) =>
          new RegExp(`^${file.replace(/N$/, "\\d+").replace("NAME", "[^/]+").replace(/\/$/, "(/.*)?")}$`),
      );
      expect(locked.filter((file) => !patterns.some((pattern) => pattern.test(file)))).toEqual([]);
      expect(locked).toEqual(
        expect.arrayContaining(["lock", "apiserver/objects/lock", "apiserver/pki/ca.crt"]),
      );

      const entries = readLog(readFileSync(join(dataDir, "apiserver/objects/log-1")));
      const [put, gone] = entries.filter(({ t, k }) => t === "configmaps" && k === "default/kept");
      expect(put?.o?.metadata.resourceVersion).toBe(String(put?.r));
      expect(Object.keys(gone ?? {})).toEqual(["r", "t", "k"]);
      expect(new Set(entries.flatMap(Object.keys))).toEqual(new Set(listed("The data directory", "field")));
    } finally {
      await rm(dataDir, { recursive: true });
    }
  });

  it.each([
    ["The record of a running cluster", "packages/cluster/src/up/state.ts", "ClusterRecord"],
    ["The record of a project", "packages/cli/src/scaffold/record.ts", "ScaffoldRecord"],
  ])("lists every field: %s", (section, path, name) => {
    const source = readFileSync(join(root, path), "utf8");
    const body = new RegExp(`export interface ${name} \\{([\\s\\S]*?)\\n\\}`).exec(source)?.[1] ?? "";
    const fields = [...body.matchAll(/readonly (\w+)\??:/g)].map(([, field]) => field);
    expect(fields).not.toEqual([]);
    expect(listed(section, "field")).toEqual(fields);
  });
});

function filesBelow(directory: string): string[] {
  return globSync("**", { cwd: directory }).filter((file) => statSync(join(directory, file)).isFile());
}
