/** Prometheus metrics under the names that dashboards for controllers already know. */
import { groupKind } from "@keelson/core";
import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { LoopObserver } from "../reconcile/loop.ts";
import { LoopMeter, loopFamilies } from "./loop-meter.ts";
import { type MetricFamily, metricText } from "./metric-text.ts";
import type { MetricSources, Metrics } from "./metrics.ts";

const webhookBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

type Prometheus = Pick<typeof import("prom-client"), "Counter" | "Gauge" | "Histogram">;

/** Metrics by prom-client, in a registry of their own; loaded only when asked for. */
export async function prometheusMetrics(): Promise<Metrics> {
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = await import("prom-client");
  const registry = new Registry();
  // The usual precision wakes the process a hundred times a second, which is most of what an idle operator costs.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 1_000 });
  return new PrometheusMetrics({ Counter, Gauge, Histogram }, registry);
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

class PrometheusMetrics implements Metrics {
  readonly #registry: Registry;
  readonly #meters: LoopMeter[] = [];
  /** Plain numbers, as those of the loops: every request is counted. */
  readonly #requests = new Map<string, { readonly labels: Record<string, string>; value: number }>();
  readonly #webhooks: Counter;
  readonly #webhookTime: Histogram;
  readonly #leader: Gauge;
  readonly #objects: Gauge;
  readonly #connected: Gauge;
  #sources: MetricSources | undefined;

  constructor(prometheus: Prometheus, registry: Registry) {
    const make = factory(prometheus, registry);
    this.#registry = registry;
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
    const meter = new LoopMeter(controller, concurrency);
    this.#meters.push(meter);
    return meter;
  }

  watch(sources: MetricSources): void {
    this.#sources = sources;
  }

  request(host: string, method: string, status: number): void {
    const key = `${status} ${method} ${host}`;
    const known = this.#requests.get(key);
    if (known) known.value++;
    else {
      const code = status === 0 ? "<error>" : String(status);
      this.#requests.set(key, { labels: { code, host, method }, value: 1 });
    }
  }

  webhook(path: string, status: number, seconds: number): void {
    this.#webhooks.inc({ webhook: path, code: String(status) });
    this.#webhookTime.observe({ webhook: path }, seconds);
  }

  async text(): Promise<{ body: string; contentType: string }> {
    if (this.#sources) this.#collect(this.#sources);
    const requests: MetricFamily = {
      name: "rest_client_requests_total",
      help: "Requests to the API server.",
      type: "counter",
      samples: [...this.#requests.values()],
    };
    const counted = metricText([...loopFamilies(this.#meters, this.#sources?.loops ?? []), requests]);
    return { body: `${counted}${await this.#registry.metrics()}`, contentType: this.#registry.contentType };
  }

  /** Values that are read when someone asks for them. */
  #collect({ informers, leading, name }: MetricSources): void {
    this.#leader.set({ name }, leading() ? 1 : 0);
    this.#objects.reset();
    for (const informer of informers.all()) {
      const kind = groupKind(informer.kind);
      const { interruptedSinceMs, synced } = informer.health;
      this.#objects.inc({ kind }, informer.cache.size);
      this.#connected.set({ kind }, synced && interruptedSinceMs === undefined ? 1 : 0);
    }
  }
}
