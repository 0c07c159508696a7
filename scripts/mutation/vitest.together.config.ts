// The tests with all mistakes at once, asleep: TOGETHER_FILES names the files, separated by line ends.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { mergeConfig } from "vitest/config";
import type { VitestPluginContext } from "vitest/node";
import tests from "../../vitest.config.ts";
import { mutantsOf } from "./mutants.ts";
import { together } from "./together.ts";

const root = resolve(import.meta.dirname, "../..");
const texts = new Map<string, string>();
let firstId = 0;
for (const file of (process.env["TOGETHER_FILES"] ?? "").split("\n").filter(Boolean)) {
  const source = readFileSync(resolve(root, file), "utf8");
  const mutants = mutantsOf(file, source);
  texts.set(resolve(root, file), together(source, mutants, firstId));
  firstId += mutants.length;
}
const textOf = (id: string) => texts.get(id.split("?")[0] as string);

const merged = mergeConfig(tests, {
  root,
  plugins: [
    {
      name: "together",
      enforce: "pre",
      configureVitest: ({ defineCacheKeyGenerator }: VitestPluginContext) =>
        defineCacheKeyGenerator(({ id }) => (textOf(id) === undefined ? undefined : false)),
      load: textOf,
    },
  ],
});

export default {
  ...merged,
  test: {
    ...merged.test,
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          include: ["{packages,operators}/*/{src,test}/**/*.test.ts"],
          runner: resolve(import.meta.dirname, "together-runner.ts"),
          maxWorkers: 1,
          // A test is run many times over.
          testTimeout: 24 * 3_600_000,
        },
      },
    ],
  },
};
