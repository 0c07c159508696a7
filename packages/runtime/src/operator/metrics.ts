/** Prometheus metrics under the names that dashboards for controllers already know. */

import { groupKind } from "@keelson/core";
import type { InformerSet } from "../cache/informer-set.ts";
import { RuntimeError } from "../errors.ts";
import type { Loop, LoopObserver } from "../reconcile/loop.ts";

/** One metric of an operator's own, with its values at the moment when someone asks for them. */
export interface MetricFamily {
  /** As Prometheus wants it: `etcd_cluster_ready_members`. */
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter";
  readonly samples: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
}

/** As Prometheus reads them. */
export function metricText(families: readonly MetricFamily[]): string {
  return families
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ labels, value }) => {
        const pairs = Object.entries(labels).map(([key, text]) => `${key}=${JSON.stringify(text)}`);
        return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
      }),
      "",
    ])
    .join("\n");
}

export interface Metrics {
  observerFor(controller: string, concurrency: number): LoopObserver;
  /** Values that are read when someone asks for them. */
  watch(sources: {
    loops: readonly Loop[];
    informers: InformerSet;
    leading: () => boolean;
    name: string;
  }): void;
  /** `host` is the API server's, as in its address; status 0 when there was no answer. */
  request(host: string, method: string, status: number): void;
  /** The text that Prometheus reads, and its content type. */
  text(): Promise<{ body: string; contentType: string }>;
}

/** Counts nothing, and costs nothing. */
export const noMetrics: Metrics = {
  observerFor: () => ({}),
  watch: () => {},
  request: () => {},
  text: async () => ({ body: "", contentType: "text/plain" }),
};

const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];

/** What nobody throws on purpose. */
function isMistake(error: unknown): boolean {
  return [TypeError, ReferenceError, RangeError, SyntaxError].some((mistake) => error instanceof mistake);
}

/** Metrics by prom-client, in a registry of their own; loaded only when asked for. */
export async function prometheusMetrics(): Promise<Metrics> {
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: string[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });

  const total = counter("controller_runtime_reconcile_total", "Reconciles by result.", [
    "controller",
    "result",
  ]);
  const errors = counter("controller_runtime_reconcile_errors_total", "Reconciles that failed.", [
    "controller",
  ]);
  const terminal = counter(
    "controller_runtime_terminal_reconcile_errors_total",
    "Reconciles that failed and are not tried again.",
    ["controller"],
  );
  const panics = counter(
    "controller_runtime_reconcile_panics_total",
    "Reconciles that failed by a mistake in the program.",
    ["controller"],
  );
  const timeouts = counter(
    "controller_runtime_reconcile_timeouts_total",
    "Reconciles that did not end in time.",
    ["controller"],
  );
  const time = histogram(
    "controller_runtime_reconcile_time_seconds",
    "How long a reconcile takes.",
    ["controller"],
    reconcileBuckets,
  );
  const most = gauge("controller_runtime_max_concurrent_reconciles", "Reconciles at once, at most.", [
    "controller",
  ]);
  const active = gauge("controller_runtime_active_workers", "Reconciles under way.", ["controller"]);
  const queueLabels = ["name", "controller"];
  const depth = gauge("workqueue_depth", "Keys that wait to be reconciled.", queueLabels);
  const adds = counter("workqueue_adds_total", "Keys added to the queue.", queueLabels);
  const retries = counter("workqueue_retries_total", "Keys added again after a failure.", queueLabels);
  const waited = histogram(
    "workqueue_queue_duration_seconds",
    "How long a key waits.",
    queueLabels,
    queueBuckets,
  );
  const worked = histogram(
    "workqueue_work_duration_seconds",
    "How long a key is worked on.",
    queueLabels,
    queueBuckets,
  );
  const unfinished = gauge(
    "workqueue_unfinished_work_seconds",
    "Time spent on work under way, summed.",
    queueLabels,
  );
  const longest = gauge(
    "workqueue_longest_running_processor_seconds",
    "Time spent on the oldest work.",
    queueLabels,
  );
  const requests = counter("rest_client_requests_total", "Requests to the API server.", [
    "code",
    "host",
    "method",
  ]);
  const leader = gauge("leader_election_master_status", "1 while this process leads.", ["name"]);
  const objects = gauge("keelson_cache_objects", "Objects in a cache.", ["kind"]);
  const fresh = gauge("keelson_cache_connected", "1 while a cache follows the server.", ["kind"]);

  let collect = () => {};
  return {
    observerFor: (controller, concurrency) => {
      const labels = { name: controller, controller };
      most.set({ controller }, concurrency);
      active.set({ controller }, 0);
      for (const result of ["success", "error", "requeue", "requeue_after"]) {
        total.inc({ controller, result }, 0);
      }
      for (const each of [errors, terminal, panics, timeouts]) each.inc({ controller }, 0);
      return {
        added: () => adds.inc(labels),
        retried: () => retries.inc(labels),
        taken: (seconds) => waited.observe(labels, seconds),
        finished: (seconds) => worked.observe(labels, seconds),
        started: () => active.inc({ controller }),
        ended: (result, seconds, error) => {
          active.dec({ controller });
          const failed = result === "error" || result === "terminal";
          total.inc({ controller, result: failed ? "error" : result });
          if (failed) errors.inc({ controller });
          if (result === "terminal") terminal.inc({ controller });
          if (isMistake(error)) panics.inc({ controller });
          if (error instanceof RuntimeError && error.code === "ReconcileTimeout")
            timeouts.inc({ controller });
          time.observe({ controller }, seconds);
        },
      };
    },
    watch: ({ loops, informers, leading, name }) => {
      collect = () => {
        leader.set({ name }, leading() ? 1 : 0);
        for (const { queue, name: controller } of loops) {
          const labels = { name: controller, controller };
          const running = queue.unfinishedSeconds();
          depth.set(labels, queue.depth);
          unfinished.set(
            labels,
            running.reduce((sum, seconds) => sum + seconds, 0),
          );
          longest.set(labels, Math.max(0, ...running));
        }
        objects.reset();
        for (const informer of informers.all()) {
          const kind = groupKind(informer.kind);
          const { interruptedSinceMs, synced } = informer.health;
          objects.inc({ kind }, informer.cache.size);
          fresh.set({ kind }, synced && interruptedSinceMs === undefined ? 1 : 0);
        }
      };
    },
    request: (host, method, status) =>
      requests.inc({ code: status === 0 ? "<error>" : String(status), host, method }),
    text: async () => {
      collect();
      return { body: await registry.metrics(), contentType: registry.contentType };
    },
  };
}
