/** Compares a scenario with what the real server answered. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import type { Told } from "./story.ts";

/** `file` beside the test; `except` are labels where we knowingly differ. */
export function expectRecorded(told: readonly Told[], file: string, except: readonly string[] = []): void {
  const recorded = JSON.parse(readFileSync(file, "utf8")) as readonly Told[];
  const without = (list: readonly Told[]) => list.filter(({ label }) => !except.includes(label));
  expect(told.map(({ label }) => label)).toEqual(recorded.map(({ label }) => label));
  expect(without(JSON.parse(JSON.stringify(told)))).toEqual(without(recorded));
}
