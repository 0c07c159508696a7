// The tests with one mistake in the code: MUTANT_FILE names the file, MUTANT_TEXT a file with what it says instead.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { mergeConfig } from "vitest/config";
import type { VitestPluginContext } from "vitest/node";
import tests from "../../vitest.config.ts";

const { MUTANT_FILE: file, MUTANT_TEXT: text } = process.env;
const isMistaken = (id: string) => file !== undefined && id.split("?")[0] === file;

export default mergeConfig(tests, {
  root: resolve(import.meta.dirname, "../.."),
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      // The cache of transformed files goes by what is on the disk, where the mistake is not.
      configureVitest: ({ defineCacheKeyGenerator }: VitestPluginContext) =>
        defineCacheKeyGenerator(({ id }) => (isMistaken(id) ? false : undefined)),
      load: (id: string) => (text && isMistaken(id) ? readFileSync(text, "utf8") : undefined),
    },
  ],
});
