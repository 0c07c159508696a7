/** Holds the Markdown pages together: links lead somewhere, decisions are numbered without gaps. */
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../run.ts";

const pages = globSync("{*.md,{docs,packages,operators,examples,conformance,reference}/**/*.md}", {
  cwd: root,
  exclude: (path) => /node_modules|dist/.test(path),
});

describe("pages", () => {
  it("link to files and headings that exist", () => {
    expect(pages.flatMap(brokenLinks)).toEqual([]);
  });

  it("name commands of npm run that exist, and all of them", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const named = new Set(pages.flatMap(commandsIn));
    expect([...named].filter((name) => !(name in scripts))).toEqual([]);
    // `npm test` is how one is called, and the README calls the command with npx.
    const missing = Object.keys(scripts).filter((name) => !named.has(name));
    expect(missing.filter((name) => name !== "test" && name !== "keelson")).toEqual([]);
  });

  it("are there for every package and every operator", () => {
    const folders = globSync("{packages,operators}/*/package.json", { cwd: root }).map(dirname);
    expect(folders.filter((folder) => !existsSync(join(root, folder, "README.md")))).toEqual([]);
  });

  it("of decisions are numbered without gaps, in their names and in their titles", () => {
    const names = readdirSync(join(root, "docs/decisions"))
      .filter((name) => name.endsWith(".md"))
      .sort();
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, i) => i + 1));
    const titles = names.map(
      (name) => readFileSync(join(root, "docs/decisions", name), "utf8").split("\n")[0],
    );
    expect(titles.map((title) => Number(/^# (\d+)\. /.exec(title ?? "")?.[1]))).toEqual(
      names.map((_, i) => i + 1),
    );
  });
});

function brokenLinks(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8").replace(/^```[\s\S]*?^```/gm, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target) && !leads(page, target))
    .map((target) => `${page}: ${target}`);
}

/** `npm run e2e:etcd`, and what a table shortens: `npm run conformance`, `:own`. */
function commandsIn(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/npm run ([a-z0-9:-]*[a-z0-9])((?:`, `:?[a-z0-9:]+(?=`))*)/g)].flatMap(
    ([, name = "", more = ""]) => {
      const family = name.split(":")[0];
      const others = more.split("`, `").slice(1);
      return [name, ...others.map((other) => (other.startsWith(":") ? family + other : other))];
    },
  );
}

function leads(page: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? join(root, page) : join(root, dirname(page), path);
  if (!existsSync(file)) return false;
  if (anchor === undefined || !file.endsWith(".md")) return true;
  return [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].some(
    ([, title = ""]) => slug(title) === anchor,
  );
}

/** A heading's anchor, as GitHub makes it. */
function slug(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/ /g, "-");
}
