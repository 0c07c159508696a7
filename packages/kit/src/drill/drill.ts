/** Drill: a failure on purpose, on request or on a schedule, and the record of what came of it. */
import type { ObjectOf } from "@keelson/core";
import { cel, preserveUnknown, resource } from "@keelson/schema";
import { z } from "zod";

const faults = ["DeletePod", "Kill", "Freeze", "CutOff", "FillDisk"] as const;

/** What a drill does to pods. */
export type Fault = (typeof faults)[number];

const spec = z
  .object({
    target: z
      .object({ kind: z.string().max(63), name: z.string().max(253) })
      .describe(
        "The application, in this namespace. Its conditions say how it is, its selector which pods it has.",
      ),
    fault: z
      .enum(faults)
      .describe(
        "DeletePod deletes pods. Kill and Freeze send SIGKILL and SIGSTOP to the processes of a pod that shares its " +
          "process namespace. CutOff denies all traffic by a NetworkPolicy. FillDisk fills a volume.",
      ),
    victims: z
      .object({
        labels: z
          .record(z.string(), z.string())
          .default({})
          .describe("Only pods with these labels, beside those of the target."),
        count: z.int().min(1).max(100).default(1).describe("How many, chosen at random."),
        all: z.boolean().default(false).describe("All of them at once."),
      })
      .default({ labels: {}, count: 1, all: false }),
    durationSeconds: z
      .int()
      .min(1)
      .max(3_600)
      .default(30)
      .describe("How long Freeze, CutOff and FillDisk last."),
    volume: z.string().max(63).default("data").describe("For FillDisk: the name of the volume in the pod."),
    schedule: z.string().max(128).optional().describe("A cron expression. Default: once, now."),
    timeZone: z.string().max(64).default("UTC"),
    suspend: z.boolean().default(false).describe("No run begins; one that has begun ends as always."),
    budget: z
      .object({
        pods: z.int().min(1).max(100).default(1).describe("No run hits more pods than this at once."),
        runsPerDay: z
          .int()
          .min(1)
          .max(1_440)
          .default(24)
          .describe("After so many runs within 24 hours the next one waits."),
        failures: z
          .int()
          .min(1)
          .max(100)
          .default(1)
          .describe(
            "After so many runs without recovery, one after the other, no other begins until the spec changes.",
          ),
      })
      .default({ pods: 1, runsPerDay: 24, failures: 1 }),
    recoverWithinSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .default(300)
      .describe("The target must be well again by then, counted from the fault."),
    client: z
      .object({
        image: z.string().min(1).max(512),
        command: z.array(z.string()).optional(),
        args: z.array(z.string()).optional(),
        env: z.array(preserveUnknown()).optional(),
        envFrom: z.array(preserveUnknown()).optional(),
      })
      .optional()
      .describe(
        "A container that uses the application throughout and answers GET /report on port 8080 with " +
          '{"acknowledged": n, "lost": n, "longestGapMs": n}. Default: that of the operator, if it has one.',
      ),
  })
  .check(
    cel(
      "self.victims.all || self.victims.count <= self.budget.pods",
      "victims.count must not be greater than budget.pods",
    ),
  );

const victim = z.object({
  name: z.string(),
  uid: z.string(),
  restarts: z.int().describe("How often its containers had been restarted before."),
});

const run = z.object({
  id: z.string(),
  phase: z.enum(["Preparing", "Striking", "Recovering"]),
  due: z.string(),
  victims: z.array(victim),
  struckAt: z.string().optional(),
  wellSince: z.string().optional().describe("Since when the target has been well without a break."),
  message: z.string().optional(),
});

const result = z.object({
  at: z.string(),
  fault: z.string(),
  victims: z.array(z.string()),
  recovered: z.boolean(),
  recoveredAfterSeconds: z.number().optional(),
  acknowledged: z.int().optional().describe("What the client wrote and got acknowledged during the run."),
  lost: z.int().optional().describe("How much of that was gone afterwards."),
  longestGapSeconds: z.number().optional().describe("The longest time in which the client could not write."),
  message: z.string().optional(),
});

const status = z.object({
  phase: z.enum(["Waiting", "Running", "Done", "Stopped", "Suspended"]).optional(),
  run: run.optional().describe("The run that is under way."),
  results: z.array(result).optional().describe("The newest runs, newest first."),
  lastDay: z
    .array(z.string())
    .optional()
    .describe("The times of the runs of the last 24 hours, newest first: what budget.runsPerDay counts."),
  failures: z.int().optional().describe("Runs without recovery, one after the other."),
  failedGeneration: z.int().optional(),
  lastScheduled: z.string().optional(),
  next: z.string().optional(),
  message: z.string().optional(),
});

/**
 * The kind Drill in a group of its own for each operator, so that operators beside each other do not touch each
 * other's drills.
 *
 * @example
 * export const Drill = drillKind("sampledb.keelson.dev");
 */
export function drillKind<const G extends string>(group: G) {
  return resource({
    group,
    kind: "Drill",
    version: "v1",
    spec,
    status,
    columns: {
      Target: ".spec.target.name",
      Fault: ".spec.fault",
      Phase: ".status.phase",
      Recovered: ".status.results[0].recovered",
      After: ".status.results[0].recoveredAfterSeconds",
      Lost: ".status.results[0].lost",
      Next: { path: ".status.next", type: "date" },
    },
  });
}

/** The kind that {@link drillKind} makes. */
export type DrillKind = ReturnType<typeof drillKind<string>>;
/** A Drill as the API server returns it. */
export type DrillObject = ObjectOf<DrillKind>;
export type DrillSpec = DrillObject["spec"];
export type DrillStatus = z.output<typeof status>;
export type DrillRun = z.output<typeof run>;
export type DrillResult = z.output<typeof result>;
export type Victim = z.output<typeof victim>;
