/** Holds the Markdown pages together: links lead somewhere, decisions are numbered without gaps. */
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../run.ts";

const pages = globSync("{*.md,{docs,packages,operators,conformance,reference}/**/*.md}", {
  cwd: root,
  exclude: (path) => /node_modules|dist/.test(path),
});

describe("pages", () => {
  it("link to files and headings that exist", () => {
    expect(pages.flatMap(brokenLinks)).toEqual([]);
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
