/** Every command, file and edit of every guide, done by a reader in the order of the page. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { compilePackages, root } from "../../run.ts";
import { stepsOf } from "./blocks.ts";
import { Reader } from "./reader.ts";

/** A page that says who runs it is run here; others have tests of their own. */
const guides = globSync("docs/guides/*.md", { cwd: root })
  .filter((path) => readFileSync(join(root, path), "utf8").includes("(`scripts/docs/guides`)"))
  .sort();

// A reader's project has the types of the packages as npm installs them, and a fresh clone has none.
beforeAll(() => compilePackages(), 600_000);

test("the guides of the developer's loop are among those that are run", () => {
  const names = guides.map((path) => basename(path, ".md"));
  expect(names).toEqual(
    expect.arrayContaining(["first-operator", "from-kopf", "from-kubebuilder", "production", "testing"]),
  );
});

test.each(guides.map((path) => [basename(path), path]))(
  "docs/guides/%s does what it says",
  { timeout: 600_000 },
  async (_, path) => {
    const steps = stepsOf(readFileSync(join(root, path), "utf8"));
    await using reader = new Reader();
    for (const step of steps) {
      try {
        await reader.do(step);
      } catch (error) {
        throw new Error(`${path}:${step.line}: ${(error as Error).message}`, { cause: error });
      }
    }
  },
);

describe("a guide", () => {
  test("is read block by block", () => {
    const page = [
      "```shell\nnpm test  # all of them\n\n# a comment\nnpm run check\n```",
      "```text\nTests …\n```",
      "<!-- background until: Ready -->\n\n```shell\nnpx keelson dev\n```",
      "```diff\n--- src/a.ts\n one\n-two\n+three\n```",
      "```ts\n// src/b.ts\nexport {};\n```",
      "<!-- end -->",
    ].join("\n\n");
    expect(stepsOf(page).map(({ line: _, ...step }) => step)).toEqual([
      { type: "commands", commands: ["npm test", "npm run check"] },
      { type: "output", lines: ["Tests …"] },
      { type: "background", command: "npx keelson dev", until: "Ready" },
      { type: "edit", path: "src/a.ts", before: "one\ntwo\n", after: "one\nthree\n" },
      { type: "file", path: "src/b.ts", content: "export {};\n" },
      { type: "end" },
    ]);
  });

  test("has no block that nobody runs", () => {
    expect(() => stepsOf("```go\nfunc main() {}\n```")).toThrow(/nobody runs a block of go/);
    expect(() => stepsOf("```ts\nconst a = 1;\n```")).toThrow(/begins with a comment that names its file/);
  });

  test("is believed only if its commands work and its output comes", async () => {
    await using reader = new Reader();
    await reader.do({ type: "commands", line: 1, commands: ["echo one", "echo two three"] });
    await reader.do({ type: "output", line: 2, lines: ["one", "two …"] });
    await expect(reader.do({ type: "output", line: 3, lines: ["two", "one"] })).rejects.toThrow(/expected/);
    await expect(reader.do({ type: "commands", line: 4, commands: ["false"] })).rejects.toThrow(
      /false ended with 1/,
    );
  });
});
