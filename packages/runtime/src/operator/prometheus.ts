/** Prometheus metrics under the names that dashboards for controllers already know. */
import { groupKind } from "@keelson/core";
import type { Registry } from "prom-client";
import type { LoopObserver } from "../reconcile/loop.ts";
import { Histogram } from "./histogram.ts";
import { LoopMeter, loopFamilies } from "./loop-meter.ts";
import { type HistogramFamily, type MetricFamily, metricText } from "./metric-text.ts";
import type { MetricSources, Metrics } from "./metrics.ts";

const webhookBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

interface Count {
  readonly labels: Record<string, string>;
  value: number;
}

/** Ours are plain numbers. Those of the process are by prom-client, which is loaded when someone first asks for metrics. */
export class PrometheusMetrics implements Metrics {
  readonly #meters: LoopMeter[] = [];
  readonly #requests = new Map<string, Count>();
  readonly #webhooks = new Map<string, Count>();
  readonly #webhookTimes = new Map<string, Histogram>();
  #sources: MetricSources | undefined;
  #process: Promise<Registry> | undefined;

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
    if (known) {
      known.value++;
      return;
    }
    const code = status === 0 ? "<error>" : String(status);
    this.#requests.set(key, { labels: { code, host, method }, value: 1 });
  }

  webhook(path: string, status: number, seconds: number): void {
    const key = `${status} ${path}`;
    const known = this.#webhooks.get(key);
    if (known) known.value++;
    else this.#webhooks.set(key, { labels: { webhook: path, code: String(status) }, value: 1 });
    let times = this.#webhookTimes.get(path);
    if (!times) {
      times = new Histogram(webhookBuckets);
      this.#webhookTimes.set(path, times);
    }
    times.observe(seconds);
  }

  async text(): Promise<{ body: string; contentType: string }> {
    this.#process ??= processMetrics();
    const registry = await this.#process;
    const own = metricText([
      ...loopFamilies(this.#meters, this.#sources?.loops ?? []),
      ...this.#requestFamilies(),
      ...stateFamilies(this.#sources),
    ]);
    return { body: `${own}${await registry.metrics()}`, contentType: registry.contentType };
  }

  #requestFamilies(): (MetricFamily | HistogramFamily)[] {
    return [
      {
        name: "rest_client_requests_total",
        help: "Requests to the API server.",
        type: "counter",
        samples: [...this.#requests.values()],
      },
      {
        name: "controller_runtime_webhook_requests_total",
        help: "Answers of webhooks.",
        type: "counter",
        samples: [...this.#webhooks.values()],
      },
      {
        name: "controller_runtime_webhook_latency_seconds",
        help: "How long a webhook takes to answer.",
        type: "histogram",
        samples: [...this.#webhookTimes].flatMap(([webhook, times]) => times.samples({ webhook })),
      },
    ];
  }
}

/** Values that are read when someone asks for them. */
function stateFamilies(sources: MetricSources | undefined): MetricFamily[] {
  const objects = new Map<string, number>();
  const connected = new Map<string, number>();
  for (const informer of sources?.informers.all() ?? []) {
    const kind = groupKind(informer.kind);
    const { interruptedSinceMs, synced } = informer.health;
    objects.set(kind, (objects.get(kind) ?? 0) + informer.cache.size);
    connected.set(kind, synced && interruptedSinceMs === undefined ? 1 : 0);
  }
  const gauge = (name: string, help: string, samples: MetricFamily["samples"]): MetricFamily => {
    return { name, help, type: "gauge", samples };
  };
  const byKind = (values: ReadonlyMap<string, number>) =>
    [...values].map(([kind, value]) => ({ labels: { kind }, value }));
  return [
    gauge(
      "leader_election_master_status",
      "1 while this process leads.",
      sources ? [{ labels: { name: sources.name }, value: sources.leading() ? 1 : 0 }] : [],
    ),
    gauge("keelson_cache_objects", "Objects in a cache.", byKind(objects)),
    gauge("keelson_cache_connected", "1 while a cache follows the server.", byKind(connected)),
  ];
}

/** CPU, memory, garbage collection and event loop of this process, in a registry of their own. */
async function processMetrics(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import("prom-client");
  const registry = new Registry();
  // The usual precision wakes the process a hundred times a second, which is most of what an idle operator costs.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 1_000 });
  return registry;
}
