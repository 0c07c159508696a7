/** What must hold, and the ways to look at it. */
import type { Application } from "../simulation/process.ts";
import type { World } from "./world.ts";

/** Looks without a side effect and answers with what is wrong, as a sentence, or with nothing. */
export interface Oracle<A extends Application = Application> {
  readonly name: string;
  /** Called once, before anything happens: for oracles that listen. They report by `world.violate`. */
  attach?(world: World<A>): void;
  /** Every few seconds of virtual time: must never be wrong. */
  always?(world: World<A>): string | undefined;
  /** Every few seconds: may be wrong for a while, but not for longer than this. */
  readonly eventually?: {
    readonly withinMs: number;
    check(world: World<A>): string | undefined;
  };
  /** When everything has come to rest. */
  atRest?(world: World<A>): string | undefined | Promise<string | undefined>;
}
