/** Prometheus metrics under the names that dashboards for controllers already know. */
import { groupKind } from "@keelson/core";
import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import { RuntimeError } from "../errors.ts";
import type { LoopObserver } from "../reconcile/loop.ts";
import type { MetricSources, Metrics } from "./metrics.ts";

const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];

const webhookBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

type Prometheus = typeof import("prom-client");

/** Metrics by prom-client, in a registry of their own; loaded only when asked for. */
export async function prometheusMetrics(): Promise<Metrics> {
  const prometheus = await import("prom-client");
  const registry = new prometheus.Registry();
  // The usual precision wakes the process a hundred times a second, which is most of what an idle operator costs.
  prometheus.collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 1_000 });
  return new PrometheusMetrics(prometheus, registry);
}

/** Makes metrics of one registry. */
function factory({ Counter, Gauge, Histogram }: Prometheus, registry: Registry) {
  const registers = [registry];
  return {
    counter: (name: string, help: string, labelNames: string[]): Counter =>
      new Counter({ name, help, labelNames, registers }),
    gauge: (name: string, help: string, labelNames: string[]): Gauge =>
      new Gauge({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, labelNames: string[], buckets: number[]): Histogram =>
      new Histogram({ name, help, labelNames, buckets, registers }),
  };
}

function reconcileMetrics({ counter, gauge, histogram }: ReturnType<typeof factory>) {
  const name = (suffix: string) => `controller_runtime_${suffix}`;
  const by = ["controller"];
  return {
    total: counter(name("reconcile_total"), "Reconciles by result.", ["controller", "result"]),
    errors: counter(name("reconcile_errors_total"), "Reconciles that failed.", by),
    terminal: counter(
      name("terminal_reconcile_errors_total"),
      "Reconciles that failed and are not tried again.",
      by,
    ),
    panics: counter(
      name("reconcile_panics_total"),
      "Reconciles that failed by a mistake in the program.",
      by,
    ),
    timeouts: counter(name("reconcile_timeouts_total"), "Reconciles that did not end in time.", by),
    time: histogram(name("reconcile_time_seconds"), "How long a reconcile takes.", by, reconcileBuckets),
    most: gauge(name("max_concurrent_reconciles"), "Reconciles at once, at most.", by),
    active: gauge(name("active_workers"), "Reconciles under way.", by),
  };
}

function queueMetrics({ counter, gauge, histogram }: ReturnType<typeof factory>) {
  const name = (suffix: string) => `workqueue_${suffix}`;
  const by = ["name", "controller"];
  return {
    depth: gauge(name("depth"), "Keys that wait to be reconciled.", by),
    adds: counter(name("adds_total"), "Keys added to the queue.", by),
    retries: counter(name("retries_total"), "Keys added again after a failure.", by),
    waited: histogram(name("queue_duration_seconds"), "How long a key waits.", by, queueBuckets),
    worked: histogram(name("work_duration_seconds"), "How long a key is worked on.", by, queueBuckets),
    unfinished: gauge(name("unfinished_work_seconds"), "Time spent on work under way, summed.", by),
    longest: gauge(name("longest_running_processor_seconds"), "Time spent on the oldest work.", by),
  };
}

class PrometheusMetrics implements Metrics {
  readonly #registry: Registry;
  readonly #reconciles: ReturnType<typeof reconcileMetrics>;
  readonly #queue: ReturnType<typeof queueMetrics>;
  readonly #requests: Counter;
  readonly #webhooks: Counter;
  readonly #webhookTime: Histogram;
  readonly #leader: Gauge;
  readonly #objects: Gauge;
  readonly #connected: Gauge;
  #sources: MetricSources | undefined;

  constructor(prometheus: Prometheus, registry: Registry) {
    const make = factory(prometheus, registry);
    this.#registry = registry;
    this.#reconciles = reconcileMetrics(make);
    this.#queue = queueMetrics(make);
    const byRequest = ["code", "host", "method"];
    this.#requests = make.counter("rest_client_requests_total", "Requests to the API server.", byRequest);
    this.#webhooks = make.counter("controller_runtime_webhook_requests_total", "Answers of webhooks.", [
      "webhook",
      "code",
    ]);
    this.#webhookTime = make.histogram(
      "controller_runtime_webhook_latency_seconds",
      "How long a webhook takes to answer.",
      ["webhook"],
      webhookBuckets,
    );
    this.#leader = make.gauge("leader_election_master_status", "1 while this process leads.", ["name"]);
    this.#objects = make.gauge("keelson_cache_objects", "Objects in a cache.", ["kind"]);
    this.#connected = make.gauge("keelson_cache_connected", "1 while a cache follows the server.", ["kind"]);
  }

  observerFor(controller: string, concurrency: number): LoopObserver {
    const { total, errors, terminal, panics, timeouts, most, active } = this.#reconciles;
    const { adds, retries, waited, worked } = this.#queue;
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
      ended: (result, seconds, error) => this.#ended(controller, result, seconds, error),
    };
  }

  watch(sources: MetricSources): void {
    this.#sources = sources;
  }

  request(host: string, method: string, status: number): void {
    this.#requests.inc({ code: status === 0 ? "<error>" : String(status), host, method });
  }

  webhook(path: string, status: number, seconds: number): void {
    this.#webhooks.inc({ webhook: path, code: String(status) });
    this.#webhookTime.observe({ webhook: path }, seconds);
  }

  async text(): Promise<{ body: string; contentType: string }> {
    if (this.#sources) this.#collect(this.#sources);
    return { body: await this.#registry.metrics(), contentType: this.#registry.contentType };
  }

  #ended(
    controller: string,
    result: Parameters<NonNullable<LoopObserver["ended"]>>[0],
    seconds: number,
    error: unknown,
  ): void {
    const { total, errors, terminal, panics, timeouts, time, active } = this.#reconciles;
    active.dec({ controller });
    const failed = result === "error" || result === "terminal";
    total.inc({ controller, result: failed ? "error" : result });
    if (failed) errors.inc({ controller });
    if (result === "terminal") terminal.inc({ controller });
    if (isMistake(error)) panics.inc({ controller });
    if (error instanceof RuntimeError && error.code === "ReconcileTimeout") timeouts.inc({ controller });
    time.observe({ controller }, seconds);
  }

  /** Values that are read when someone asks for them. */
  #collect({ loops, informers, leading, name }: MetricSources): void {
    const { depth, unfinished, longest } = this.#queue;
    this.#leader.set({ name }, leading() ? 1 : 0);
    for (const [controller, those] of Map.groupBy(loops, (loop) => loop.name)) {
      const labels = { name: controller, controller };
      const running = those.flatMap(({ queue }) => queue.unfinishedSeconds());
      const sum = running.reduce((total, seconds) => total + seconds, 0);
      depth.set(
        labels,
        those.reduce((total, { queue }) => total + queue.depth, 0),
      );
      unfinished.set(labels, sum);
      longest.set(labels, Math.max(0, ...running));
    }
    this.#objects.reset();
    for (const informer of informers.all()) {
      const kind = groupKind(informer.kind);
      const { interruptedSinceMs, synced } = informer.health;
      this.#objects.inc({ kind }, informer.cache.size);
      this.#connected.set({ kind }, synced && interruptedSinceMs === undefined ? 1 : 0);
    }
  }
}

/** What no code throws on purpose. */
function isMistake(error: unknown): boolean {
  return [TypeError, ReferenceError, RangeError, SyntaxError].some((mistake) => error instanceof mistake);
}
