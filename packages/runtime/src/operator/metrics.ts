/** What an operator counts, and a counter that counts nothing. */
import type { InformerSet } from "../cache/informer-set.ts";
import type { Loop, LoopObserver } from "../reconcile/loop.ts";

/** Where values come from that are read when someone asks for them. */
export interface MetricSources {
  readonly loops: readonly Loop[];
  readonly informers: InformerSet;
  readonly leading: () => boolean;
  /** Of the operator. */
  readonly name: string;
}

/** What is served to Prometheus. */
export interface MetricsText {
  /** The text that Prometheus reads, and its content type. */
  text(): Promise<{ body: string; contentType: string }>;
}

export interface Metrics extends MetricsText {
  observerFor(controller: string, concurrency: number): LoopObserver;
  /** Values that are read when someone asks for them. */
  watch(sources: MetricSources): void;
  /** A webhook at this path answered with an HTTP status. */
  webhook(path: string, status: number, seconds: number): void;
  /** `host` is the API server's, as in its address; status 0 when there was no answer. */
  request(host: string, method: string, status: number): void;
}

/** Counts nothing, and costs nothing. */
export const noMetrics: Metrics = {
  observerFor: () => ({}),
  watch: () => {},
  request: () => {},
  webhook: () => {},
  text: async () => ({ body: "", contentType: "text/plain" }),
};
