// Runs every package's tests from source: no build stands between an edit and its test.
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["keelson-source"] },
  ssr: { resolve: { conditions: ["keelson-source"] } },
  test: {
    include: [
      "{packages,operators}/*/{src,test}/**/*.test.ts",
      "examples/**/*.test.ts",
      "e2e/**/*.test.ts",
      "reference/**/*.test.ts",
      "scripts/**/*.test.ts",
    ],
    execArgv: ["--conditions=keelson-source"],
    pool: "forks",
    reporters: ["default", "./scripts/summary-reporter.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
