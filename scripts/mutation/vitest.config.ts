// The tests with one mistake in the code: MUTANT_FILE names the file, MUTANT_TEXT a file with what it says instead.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { mergeConfig } from "vitest/config";
import tests from "../../vitest.config.ts";

const { MUTANT_FILE: file, MUTANT_TEXT: text } = process.env;

export default mergeConfig(tests, {
  root: resolve(import.meta.dirname, "../.."),
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      load: (id: string) =>
        file && text && id.split("?")[0] === file ? readFileSync(text, "utf8") : undefined,
    },
  ],
});
