/**
 * What a controller's loop counts. Plain numbers, which become text when someone asks: with counters that look their
 * labels up at each call, counting was a tenth of a reconcile that finds nothing to do.
 */
import { RuntimeError } from "../errors.ts";
import type { Loop, LoopObserver } from "../reconcile/loop.ts";
import { Histogram } from "./histogram.ts";
import type { HistogramFamily, MetricFamily } from "./metric-text.ts";

const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];

export class LoopMeter implements LoopObserver {
  readonly controller: string;
  readonly concurrency: number;
  adds = 0;
  retries = 0;
  active = 0;
  errors = 0;
  terminal = 0;
  panics = 0;
  timeouts = 0;
  readonly results = { success: 0, error: 0, requeue: 0, requeue_after: 0 };
  readonly waits = new Histogram(queueBuckets);
  readonly works = new Histogram(queueBuckets);
  readonly times = new Histogram(reconcileBuckets);

  constructor(controller: string, concurrency: number) {
    this.controller = controller;
    this.concurrency = concurrency;
  }

  added(): void {
    this.adds++;
  }

  retried(): void {
    this.retries++;
  }

  taken(waitedSeconds: number): void {
    this.waits.observe(waitedSeconds);
  }

  finished(tookSeconds: number): void {
    this.works.observe(tookSeconds);
  }

  started(): void {
    this.active++;
  }

  ended(result: "success" | "error" | "terminal" | "requeue_after", seconds: number, error?: unknown): void {
    this.active--;
    const failed = result === "error" || result === "terminal";
    this.results[failed ? "error" : result]++;
    if (failed) this.errors++;
    if (result === "terminal") this.terminal++;
    if (error !== undefined) {
      if (isMistake(error)) this.panics++;
      if (error instanceof RuntimeError && error.code === "ReconcileTimeout") this.timeouts++;
    }
    this.times.observe(seconds);
  }
}

/** What no code throws on purpose. */
function isMistake(error: unknown): boolean {
  return [TypeError, ReferenceError, RangeError, SyntaxError].some((mistake) => error instanceof mistake);
}

/** The families of all controllers, as they are now. */
export function loopFamilies(
  meters: readonly LoopMeter[],
  loops: readonly Loop[],
): (MetricFamily | HistogramFamily)[] {
  const name = (suffix: string) => `controller_runtime_${suffix}`;
  const family = (
    type: MetricFamily["type"],
    metric: string,
    help: string,
    samples: MetricFamily["samples"],
  ): MetricFamily => ({ name: metric, help, type, samples });
  const byController = (value: (meter: LoopMeter) => number) =>
    meters.map((meter) => ({ labels: { controller: meter.controller }, value: value(meter) }));
  const times: HistogramFamily = {
    name: name("reconcile_time_seconds"),
    help: "How long a reconcile takes.",
    type: "histogram",
    samples: meters.flatMap((meter) => meter.times.samples({ controller: meter.controller })),
  };
  return [
    family(
      "counter",
      name("reconcile_total"),
      "Reconciles by result.",
      meters.flatMap(({ controller, results }) =>
        Object.entries(results).map(([result, value]) => ({ labels: { controller, result }, value })),
      ),
    ),
    family(
      "counter",
      name("reconcile_errors_total"),
      "Reconciles that failed.",
      byController(({ errors }) => errors),
    ),
    family(
      "counter",
      name("terminal_reconcile_errors_total"),
      "Reconciles that failed and are not tried again.",
      byController(({ terminal }) => terminal),
    ),
    family(
      "counter",
      name("reconcile_panics_total"),
      "Reconciles that failed by a mistake in the program.",
      byController(({ panics }) => panics),
    ),
    family(
      "counter",
      name("reconcile_timeouts_total"),
      "Reconciles that did not end in time.",
      byController(({ timeouts }) => timeouts),
    ),
    times,
    family(
      "gauge",
      name("max_concurrent_reconciles"),
      "Reconciles at once, at most.",
      byController(({ concurrency }) => concurrency),
    ),
    family(
      "gauge",
      name("active_workers"),
      "Reconciles under way.",
      byController(({ active }) => active),
    ),
    ...queueFamilies(meters, loops),
  ];
}

function queueFamilies(
  meters: readonly LoopMeter[],
  loops: readonly Loop[],
): (MetricFamily | HistogramFamily)[] {
  const labelsOf = ({ controller }: LoopMeter) => ({ name: controller, controller });
  const samples = (value: (meter: LoopMeter) => number) =>
    meters.map((meter) => ({ labels: labelsOf(meter), value: value(meter) }));
  const queues = ({ controller }: LoopMeter) =>
    loops.filter((loop) => loop.name === controller).map(({ queue }) => queue);
  const running = (meter: LoopMeter) => queues(meter).flatMap((queue) => queue.unfinishedSeconds());
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const simple = (
    type: MetricFamily["type"],
    suffix: string,
    help: string,
    value: (meter: LoopMeter) => number,
  ): MetricFamily => ({ name: `workqueue_${suffix}`, help, type, samples: samples(value) });
  const histogram = (suffix: string, help: string, of: (meter: LoopMeter) => Histogram): HistogramFamily => ({
    name: `workqueue_${suffix}`,
    help,
    type: "histogram",
    samples: meters.flatMap((meter) => of(meter).samples(labelsOf(meter))),
  });
  return [
    simple("gauge", "depth", "Keys that wait to be reconciled.", (meter) =>
      sum(queues(meter).map(({ depth }) => depth)),
    ),
    simple("counter", "adds_total", "Keys added to the queue.", ({ adds }) => adds),
    simple("counter", "retries_total", "Keys added again after a failure.", ({ retries }) => retries),
    histogram("queue_duration_seconds", "How long a key waits.", ({ waits }) => waits),
    histogram("work_duration_seconds", "How long a key is worked on.", ({ works }) => works),
    simple("gauge", "unfinished_work_seconds", "Time spent on work under way, summed.", (meter) =>
      sum(running(meter)),
    ),
    simple("gauge", "longest_running_processor_seconds", "Time spent on the oldest work.", (meter) =>
      Math.max(0, ...running(meter)),
    ),
  ];
}
