/** A scenario as data: what happens when. It is drawn from a seed, shrunk, printed, pasted and played again. */
import type { JsonObject, Random } from "@keelson/core";

/** One thing that happens in a scenario. */
export interface Step {
  /** Milliseconds since the scenario began. */
  readonly atMs: number;
  /** The name of a disturbance. */
  readonly do: string;
  /** How long it lasts, where it lasts. */
  readonly forMs?: number;
  readonly with?: JsonObject;
}

/** A scenario. Disturbances are referred to by their names, so that it can be printed and pasted. */
export interface Plan {
  /** Where the scenario begins: one of the subject's beginnings. */
  readonly beginning: string;
  readonly seed: number;
  /** Managers that run the operator. Default: 1. */
  readonly managers?: number;
  /** They hold a lease, as in production: one that dies is replaced when its lease has run out. Default: with several. */
  readonly lease?: boolean;
  readonly steps: readonly Step[];
}

/** What a disturbance needs to be drawn. */
export interface Choice {
  readonly name: string;
  /** How often it is drawn, compared with the others. Default: 1. */
  readonly weight?: number;
  /** It lasts for at most so long. Absent for what happens at once. */
  readonly lastsMs?: number;
  readonly choose?: (random: Random) => JsonObject;
}

export interface GenerateOptions {
  readonly seed: number;
  readonly beginnings: readonly string[];
  readonly disturbances: readonly Choice[];
  /** Most steps of a scenario. Default: 8. */
  readonly mostSteps?: number;
  /** Time in which all of them begin. Default: 3 minutes. */
  readonly withinMs?: number;
}

/**
 * Draws a scenario. Each scenario has its own choice of disturbances, so that some are played often together and not
 * all of them a little; each step begins before the one before it is likely to be over.
 */
export function generatePlan(options: GenerateOptions, random: Random): Plan {
  const { seed, beginnings, disturbances, mostSteps = 8, withinMs = 180_000 } = options;
  const enabled = disturbances.filter(() => random.next() < 0.5);
  const choices = enabled.length >= 2 ? enabled : disturbances;
  const count = 1 + Math.floor(random.next() * mostSteps);
  // Crowded and drawn-out scenarios alike.
  const span = withinMs * random.next() ** 2;
  const steps = Array.from({ length: count }, () => {
    const chosen = weighted(choices, random);
    const atMs = Math.round((random.next() * span) / 100) * 100;
    const args = chosen.choose?.(random);
    return {
      atMs,
      do: chosen.name,
      ...(chosen.lastsMs === undefined ? {} : { forMs: randomLength(chosen.lastsMs, random) }),
      ...(args && Object.keys(args).length > 0 ? { with: args } : {}),
    };
  });
  return {
    beginning: pick(beginnings, random),
    seed,
    ...(random.next() < 0.15 ? { managers: 2 } : {}),
    // Without one a crash is followed at once by another manager, which meets more of what was left half done.
    ...(random.next() < 0.75 ? { lease: true } : {}),
    steps: steps.sort((a, b) => a.atMs - b.atMs),
  };
}

/** Short ones as often as long ones. */
function randomLength(mostMs: number, random: Random): number {
  const leastMs = Math.min(1_000, mostMs);
  const ms = leastMs * (mostMs / leastMs) ** random.next();
  return Math.round(ms / 100) * 100;
}

function weighted<T extends { readonly weight?: number }>(choices: readonly T[], random: Random): T {
  const total = choices.reduce((sum, { weight = 1 }) => sum + weight, 0);
  let left = random.next() * total;
  for (const choice of choices) {
    left -= choice.weight ?? 1;
    if (left < 0) return choice;
  }
  return choices.at(-1) as T;
}

/** One of the items. */
export function pick<T>(items: readonly T[], random: Random): T {
  return items[Math.floor(random.next() * items.length)] as T;
}

/** A choice that is made when the step is played, among what there is by then: a fraction of the list. */
export function randomFraction(random: Random): number {
  return Math.round(random.next() * 1_000) / 1_000;
}

/** The item that a fraction stands for. */
export function atFraction<T>(items: readonly T[], fraction: unknown): T | undefined {
  const at = typeof fraction === "number" ? fraction : 0;
  return items[Math.min(items.length - 1, Math.floor(at * items.length))];
}
