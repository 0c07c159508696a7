/** Journeys that need what the explorer simulates, played again with an operator that dies at each write and each call. */
import { Beginnings, type Plan, replay, SeededRandom, type Step, type World } from "@keelson/testing";
import { failingScript } from "./agent.ts";
import { backupsIn, databaseIn, type RedisWorld } from "./database.ts";
import { subject as explored } from "./subject.ts";

export interface Journey {
  readonly beginning: string;
  readonly steps: readonly Step[];
  /** Where it leads, however often the operator dies. */
  readonly isThere: (world: RedisWorld) => boolean;
}

const once = (name: string, args: NonNullable<Step["with"]> = {}): Step => ({
  ...{ atMs: 0, do: name },
  ...(Object.keys(args).length > 0 && { with: args }),
});

const replica = "a replica";
const stored = "a replica, with a backup";

function upgrade(beginning: string, script: string, runs: string): Journey {
  const migrations = [{ version: 1, name: "change", since: "8.0", script }];
  return {
    beginning,
    steps: [once("edit: a newer version", { version: "8.0", migrations })],
    isThere: (world) => databaseIn(world)?.status?.version === runs,
  };
}

function deletion(propagation: string, name = "edit: deleted", exists = false): Journey {
  return {
    beginning: replica,
    steps: [once(name, { propagation, onDelete: "Snapshot" })],
    isThere: (world) => backupsIn(world).length === 1 && (databaseIn(world) !== undefined) === exists,
  };
}

export const exploredJourneys = {
  backedUp: {
    beginning: replica,
    steps: [once("edit: backups are asked for", { count: 1, primary: false })],
    isThere: (world) => backupsIn(world)[0]?.status?.phase === "Done",
  },
  upgraded: upgrade(replica, "return 1", "8.0.1"),
  upgradedAlone: upgrade("no replicas", "return 1", "8.0.1"),
  // At the end of every scenario a person takes the migrations out, and it is tried again.
  upgradeGoesBack: upgrade(replica, failingScript, "8.0.1"),
  restoredInPlace: {
    beginning: stored,
    steps: [once("edit: restored in place", { which: 0, request: "" })],
    isThere: (world) => databaseIn(world)?.status?.restore?.phase === "Done",
  },
  deletedWithSnapshot: deletion("Background"),
  deletedInForeground: deletion("Foreground"),
  madeAgainFromSnapshot: deletion("Background", "edit: deleted and made again", true),
} as const satisfies Readonly<Record<string, Journey>>;

/** Counts calls that change something, and lets all of them pass. */
const counting = "calls are counted";
/** What has been planned for calls is over with the last disturbance: this one comes when the journey is over. */
const ending = "the journey ends";
const journeyMs = 120_000;
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

const beginnings = new Beginnings(subject);

/** Throws when a run ends otherwise than it should, and says where the operator died. */
export async function everyCrashOf(
  { beginning, steps, isThere }: Journey,
  {
    sample,
    onRun,
  }: {
    /** So many of the points at which it can die, chosen by a seed. Default: all. */
    readonly sample?: { readonly count: number; readonly seed: number };
    readonly onRun?: (done: number, of: number) => void;
  } = {},
): Promise<{ writes: number; calls: number; runs: number }> {
  const planWith = (first: Step): Plan => ({
    ...{ beginning, seed: 1 },
    steps: [first, ...steps, { ...once(ending), atMs: journeyMs }],
  });
  const mustBeThere = (world: World) => {
    if (!isThere(world as unknown as RedisWorld)) throw new Error("the journey did not lead where it should");
  };
  let calls = 0;
  const { writes } = await replay(subject, planWith(once(counting)), {
    beginnings,
    onEnd: (world) => {
      calls = Number(world.notes.get("calls") ?? 0);
      mustBeThere(world);
    },
  });
  const deaths = [
    ...deathsAt("operator: killed at a write", writes),
    ...deathsAt("operator: killed at a call to the application", calls),
  ];
  const chosen = sample ? new SeededRandom(sample.seed).sample(deaths, sample.count) : deaths;
  for (const [done, death] of chosen.entries()) {
    onRun?.(done, chosen.length);
    try {
      await replay(subject, planWith(death), { beginnings, onEnd: mustBeThere });
    } catch (cause) {
      throw new Error(`${death.do} ${JSON.stringify(death.with)}: ${(cause as Error).message}`, { cause });
    }
  }
  return { writes, calls, runs: 1 + chosen.length };
}

function deathsAt(name: string, count: number): Step[] {
  const indexes = Array.from({ length: count }, (_, at) => at + 1);
  return indexes.flatMap((at) => ["before", "after"].map((when) => once(name, { in: at, when })));
}
