/** Journeys of a Database, played again with an operator that dies before and after each write and each call to an agent. */
import { Beginnings, type Plan, replay, SeededRandom, type Step } from "@keelson/testing";
import { subject as explored } from "./explore/index.ts";

interface Journey {
  readonly beginning: string;
  readonly steps: readonly Step[];
}

const once = (name: string, args: NonNullable<Step["with"]> = {}, atMs = 0): Step => ({
  ...{ atMs, do: name },
  ...(Object.keys(args).length > 0 && { with: args }),
});

const three = "three instances";
const stored = "three instances with backups";

export const journeys: Readonly<Record<string, Journey>> = {
  grown: { beginning: three, steps: [once("edit: instances", { instances: 5 })] },
  shrunk: { beginning: "five instances", steps: [once("edit: instances", { instances: 2 })] },
  reconfigured: {
    beginning: three,
    steps: [
      once("edit: a setting that needs a restart", { parameters: { max_connections: "150" } }),
      once("edit: a label of pods", { pod: { labels: { team: "b" } } }, 20_000),
    ],
  },
  minorUpgraded: { beginning: three, steps: [once("edit: a newer minor version", { minor: "2" })] },
  majorUpgraded: { beginning: stored, steps: [once("edit: a newer major version", { version: "17.1" })] },
  majorRefused: {
    beginning: three,
    steps: [{ ...once("edit: a newer major version whose rehearsal fails"), forMs: 60_000 }],
  },
  handedOver: { beginning: three, steps: [once("edit: a switchover is asked for", { value: "any" })] },
  rotated: {
    beginning: three,
    steps: [
      once("edit: passwords are rotated", { value: "1" }),
      once("edit: the authority is replaced", { value: "1" }, 10_000),
    ],
  },
  backedUp: { beginning: stored, steps: [once("edit: a backup is asked for", { name: "asked" })] },
  restoredInPlace: { beginning: stored, steps: [once("edit: restored in place", { id: "1" })] },
  hibernated: { beginning: three, steps: [{ ...once("edit: hibernated"), forMs: 60_000 }] },
  healed: {
    beginning: three,
    steps: [
      once("pod: deleted", { which: 0, force: true }),
      once("volume: destroyed", { which: 0.9, how: "claim deleted" }, 30_000),
    ],
  },
  deletedWithBackup: {
    beginning: stored,
    steps: [once("edit: deleted", { propagation: "Background", onDelete: "Snapshot" })],
  },
  deletedInForeground: {
    beginning: stored,
    steps: [once("edit: deleted", { propagation: "Foreground", onDelete: "Snapshot" })],
  },
  orphanedAndAdopted: {
    beginning: three,
    steps: [once("edit: deleted with its dependents left alone, and made again")],
  },
};

/** Counts calls that change something, and lets all of them pass. */
const counting = "calls are counted";
/** What has been planned for calls is over with the last disturbance: this one comes when the journey is over. */
const ending = "the journey ends";
const journeyMs = 90_000;
const subject: typeof explored = {
  ...explored,
  edits: [
    ...explored.edits,
    { name: ending, begin: () => {} },
    {
      name: counting,
      begin: ({ simulation: { network }, notes }) => {
        const before = network.intercept;
        network.intercept = (call) => {
          if (call.write) notes.set("calls", Number(notes.get("calls") ?? 0) + 1);
          return before(call);
        };
      },
    },
  ],
};

export interface CrashReport {
  readonly writes: number;
  readonly calls: number;
  readonly runs: number;
  /** Runs in which the operator died: in some it has nothing to do any more when its time comes. */
  readonly deaths: number;
}

const beginnings = new Beginnings(subject);

/** Throws when a run ends otherwise than it should, and says where the operator died. */
export async function everyCrash(
  { beginning, steps }: Journey,
  {
    sample,
    onRun,
  }: {
    /** So many of the points at which it can die, chosen by a seed. Default: all. */
    readonly sample?: { readonly count: number; readonly seed: number };
    readonly onRun?: (done: number, of: number) => void;
  } = {},
): Promise<CrashReport> {
  const planWith = (first: Step): Plan => ({
    ...{ beginning, seed: 1 },
    steps: [first, ...steps, once(ending, {}, journeyMs)],
  });
  let [calls, deaths] = [0, 0];
  const quiet = await replay(subject, planWith(once(counting)), {
    beginnings,
    onEnd: ({ notes }) => {
      calls = Number(notes.get("calls") ?? 0);
    },
  });
  const points = [
    ...pointsOf("operator: killed at a write", quiet.writes),
    ...pointsOf("operator: killed at a call to the application", calls),
  ];
  const chosen = sample ? new SeededRandom(sample.seed).sample(points, sample.count) : points;
  for (const [at, death] of chosen.entries()) {
    try {
      await replay(subject, planWith(death), {
        beginnings,
        onEnd: ({ simulation }) => {
          if (!simulation.cluster.managers.some(({ name }) => name === "manager-1")) deaths++;
        },
      });
    } catch (cause) {
      throw new Error(`${death.do} ${JSON.stringify(death.with)}: ${(cause as Error).message}`, { cause });
    }
    onRun?.(at + 1, chosen.length);
  }
  return { writes: quiet.writes, calls, runs: chosen.length + 1, deaths };
}

function pointsOf(name: string, count: number): Step[] {
  const indexes = Array.from({ length: count }, (_, at) => at + 1);
  return indexes.flatMap((at) => ["before", "after"].map((when) => once(name, { in: at, when })));
}
