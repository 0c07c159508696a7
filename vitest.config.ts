// Runs every package's tests from source: no build stands between an edit and its test.
import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";

/** Tests that count the machine's processes, mounts and control groups, use its ports or its time: one at a time, after the others. */
const alone = [
  "packages/{node,cluster,machine}/{src,test}/**/*.test.ts",
  "packages/runtime/test/lease-thread.test.ts",
  "packages/apiserver/test/memory.test.ts",
  "operators/database/test/real-postgres.test.ts",
  "e2e/**/*.test.ts",
  "reference/**/*.test.ts",
];

const shared = [
  "{packages,operators}/*/{src,test}/**/*.test.ts",
  "examples/**/*.test.ts",
  "scripts/**/*.test.ts",
];

export default defineConfig({
  resolve: { conditions: ["keelson-source"] },
  ssr: { resolve: { conditions: ["keelson-source"] } },
  test: {
    execArgv: ["--conditions=keelson-source"],
    pool: "forks",
    reporters: ["default", "./scripts/summary-reporter.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: shared,
          exclude: [...configDefaults.exclude, ...alone],
          maxWorkers: Math.max(2, availableParallelism() - 1),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: "alone", include: alone, maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
