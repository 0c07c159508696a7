/** Produces every line of docs/reference/errors.md, and finds codes that the page lacks. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { root } from "../run.ts";
import { protobuf, storage } from "./provoke/apiserver.ts";
import { cel } from "./provoke/cel.ts";
import { cli } from "./provoke/cli.ts";
import { client } from "./provoke/client.ts";
import { cluster } from "./provoke/cluster.ts";
import { controllers } from "./provoke/controllers.ts";
import { core, merge } from "./provoke/core.ts";
import { etcd } from "./provoke/etcd.ts";
import { graphs } from "./provoke/graphs.ts";
import { hooks } from "./provoke/hooks.ts";
import { images } from "./provoke/images.ts";
import { kit } from "./provoke/kit.ts";
import { node } from "./provoke/node.ts";
import { pki } from "./provoke/pki.ts";
import { plans } from "./provoke/plans.ts";
import { runtime } from "./provoke/runtime.ts";
import { sampledb } from "./provoke/sampledb.ts";
import { schema } from "./provoke/schema.ts";
import { type Provocation, provoke, removeTemporary } from "./provoked.ts";
import { tableRows } from "./tables.ts";

/** By the section of the page. Where a section has two tables, their codes differ. */
const provocations: Readonly<Record<string, Readonly<Record<string, Provocation>>>> = {
  "@keelson/core": { ...core, ...merge },
  "@keelson/cel": cel,
  "@keelson/pki": pki,
  "@keelson/schema": schema,
  "@keelson/client": client,
  "@keelson/runtime": runtime,
  "@keelson/kit": kit,
  "@keelson/graphs": graphs,
  "@keelson/hooks": hooks,
  "@keelson/plans": plans,
  "@keelson/apiserver": { ...storage, ...protobuf },
  "@keelson/controllers": controllers,
  "@keelson/images": images,
  "@keelson/node": node,
  "@keelson/cluster": cluster,
  "@keelson/cli": cli,
  "The etcd operator": etcd,
  "The SampleDB operator": sampledb,
};

const rows = tableRows("reference/errors.md");

afterAll(removeTemporary);

describe("docs/reference/errors.md", () => {
  it("lists every code of every package, and no other", () => {
    const listed = rows.map(({ section, cells }) => `${section}: ${cells["code"]}`).sort();
    expect(listed).toEqual(codesInSource().sort());
  });

  it("tells the cause and the fix of each", () => {
    expect(rows.filter(({ cells }) => !cells["message"] || !cells["cause"] || !cells["fix"])).toEqual([]);
  });

  test.each(
    rows.map(({ section, cells }) => ({ section, code: cells["code"] ?? "", text: cells["message"] ?? "" })),
  )("$section: $code", async ({ section, code, text }) => {
    const provocation = provocations[section]?.[code];
    if (provocation === undefined) throw new Error(`nothing provokes ${code}`);
    const provoked = await provoke(provocation);
    expect(provoked.code).toBe(code);
    expect(provoked.message).toMatch(pattern(text));
  });
});

/** `…` stands for anything. */
function pattern(text: string): RegExp {
  const parts = text.split("…").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join("[\\s\\S]*")}$`);
}

/** Each member of each union that is named …ErrorCode. */
function codesInSource(): string[] {
  const files = globSync("{packages,operators}/*/src/**/errors.ts", { cwd: root });
  return files.flatMap((file) => {
    const [, tree, name] = /^(packages|operators)\/([^/]+)\//.exec(file.replaceAll("\\", "/")) ?? [];
    const section = tree === "packages" ? `@keelson/${name}` : `The ${titles[name ?? ""] ?? name} operator`;
    const source = readFileSync(join(root, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    const unions = source.matchAll(/^export type \w+ErrorCode =([^;]*);/gm);
    return [...unions].flatMap(([, union = ""]) =>
      [...union.matchAll(/"([^"]+)"/g)].map(([, code]) => `${section}: ${code}`),
    );
  });
}

const titles: Readonly<Record<string, string>> = { sampledb: "SampleDB", database: "Database" };
