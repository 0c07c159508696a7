/** A claim about operators, in our words, and the test that shows it. */
import type { Promised } from "../promises/promises.ts";
import type { Shell } from "./shell.ts";

export interface Claim extends Promised<Shell> {
  /** What a person types for it. */
  readonly commands: readonly string[];
}

/** Claims of one description. */
export interface Description {
  /** Stands for all of its claims in `--only`. */
  readonly id: string;
  readonly title: string;
  readonly source: string;
  readonly claims: readonly Claim[];
}
