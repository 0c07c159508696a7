/** Holds what the status says against what clients see and what is left of the data. */

/** How long the status may lag behind the world. */
const lagMs = 15_000;

/** The status and the world at about the same moment. */
export interface Look {
  readonly atMs: number;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string | undefined;
  }[];
  /** False while the cluster hibernates or is being deleted. */
  readonly isMeantToServe: boolean;
  /** When the latest write was acknowledged. */
  readonly writtenMs: number;
  /** A member answered a read that needs a majority. */
  readonly answers: boolean;
  /** Members that the status names, and how many of their volumes are there. */
  readonly volumes: { readonly named: number; readonly there: number };
}

/** What contradicts the world, and for how long it may. */
interface Rule {
  readonly untrue: string;
  readonly graceMs: number;
  readonly holds: (look: Look, previous: Look | undefined) => boolean;
}

function says({ conditions }: Look, type: string, status: "True" | "False"): boolean {
  return conditions.some((each) => each.type === type && each.status === status);
}

function tells({ conditions }: Look, reason: string): boolean {
  return conditions.some((each) => each.reason === reason);
}

const rules: readonly Rule[] = [
  {
    untrue: `Ready=True while no write had succeeded for ${lagMs / 1_000} s`,
    graceMs: 0,
    holds: (look) => look.isMeantToServe && says(look, "Ready", "True") && look.atMs - look.writtenMs > lagMs,
  },
  {
    untrue: "Available=True while no majority answered",
    graceMs: lagMs,
    holds: (look) => says(look, "Available", "True") && !look.answers,
  },
  {
    untrue: "Available=False while clients wrote",
    graceMs: lagMs,
    holds: (look, previous) =>
      says(look, "Available", "False") && previous !== undefined && look.writtenMs > previous.atMs,
  },
  {
    untrue: "Degraded=False while no majority answered",
    graceMs: lagMs,
    holds: (look) => look.isMeantToServe && says(look, "Degraded", "False") && !look.answers,
  },
  // People act on these two by giving up data: not even a moment's error is allowed.
  {
    untrue: "QuorumLost while the volumes of a majority were there",
    graceMs: 0,
    holds: (look) => tells(look, "QuorumLost") && look.volumes.there > look.volumes.named / 2,
  },
  {
    untrue: "AllDataLost while a volume was there",
    graceMs: 0,
    holds: (look) => tells(look, "AllDataLost") && look.volumes.there > 0,
  },
];

/** Statements of one cluster's status, look by look. */
export class Statements {
  readonly #since = new Map<Rule, number>();
  readonly #longestMs = new Map<Rule, number>();
  #previous: Look | undefined;

  /** Undefined when there was no object to look at: then nothing is said, and nothing lasts. */
  look(look: Look | undefined): void {
    for (const rule of rules) {
      if (!look?.conditions.length || !rule.holds(look, this.#previous)) {
        this.#since.delete(rule);
        continue;
      }
      const since = this.#since.get(rule) ?? look.atMs;
      this.#since.set(rule, since);
      const lasted = look.atMs - since;
      if (lasted >= rule.graceMs) this.#longestMs.set(rule, Math.max(lasted, this.#longestMs.get(rule) ?? 0));
    }
    this.#previous = look;
  }

  /** What was not true, as sentences. */
  get untrue(): readonly string[] {
    return [...this.#longestMs].map(([{ untrue }, ms]) => `${untrue}, for ${(ms / 1_000).toFixed(0)} s`);
  }
}
