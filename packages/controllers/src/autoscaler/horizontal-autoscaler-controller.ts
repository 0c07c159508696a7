/** Scales what has a scale by what its pods use: HorizontalPodAutoscalers. */
import { type Client, isNotFound } from "@keelson/client";
import {
  type AnyKind,
  deepEqual,
  dynamicKind,
  formatTime,
  type JsonObject,
  matchesLabels,
  type ObjectOf,
  parseLabelSelector,
  type Stored,
} from "@keelson/core";
import {
  HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerCondition,
  type MetricSpec,
  type MetricStatus,
  Pod,
} from "@keelson/core/kinds";
import { allowSubresource, type RawController } from "@keelson/runtime";
import { cached, type RawContext, rawController, watch } from "@keelson/runtime/internal";
import type { PodObject } from "@keelson/workloads";
import { controllerManager, serverMessage, yieldingToOthers } from "../acting/acting.ts";
import { limited, type Memory } from "./behavior.ts";
import { type Measured, MetricError, milli, type PodUsage, replicasFor } from "./replica-count.ts";

export interface AutoscalerOptions {
  /** Reads and writes the scale of kinds of all sorts, and reads metrics. */
  readonly client: Client;
}

type Autoscaler = ObjectOf<typeof HorizontalPodAutoscaler>;

const watches = { autoscalers: watch(HorizontalPodAutoscaler), pods: cached(Pod) };
type Context = RawContext<typeof watches>;

const periodMs = 15_000;
/** Longer than any window may be. */
const rememberedMs = 3_600_000;

const PodMetrics = dynamicKind({
  group: "metrics.k8s.io",
  version: "v1beta1",
  kind: "PodMetrics",
  resource: "pods",
  scope: "Namespaced",
});

interface Scale {
  readonly kind: AnyKind;
  readonly object: JsonObject & {
    readonly spec?: { readonly replicas?: number };
    readonly status?: { readonly replicas?: number; readonly selector?: string };
  };
}

export function horizontalAutoscaler({ client }: AutoscalerOptions): RawController {
  const memories = new Map<string, Memory>();
  return rawController({
    name: "horizontal-pod-autoscaler",
    fieldManager: controllerManager,
    watches,
    writes: [allowSubresource(HorizontalPodAutoscaler, "status", ["update"])],
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const autoscaler = ctx.caches.autoscalers.get(key);
      if (!autoscaler) {
        memories.delete(key);
        return;
      }
      const memory = memories.get(key) ?? { recommendations: [], changes: [] };
      memories.set(key, memory);
      await new Pass(ctx, client, autoscaler, memory).run();
      ctx.recheck(periodMs);
    }),
  });
}

type Condition = Pick<HorizontalPodAutoscalerCondition, "type" | "status" | "reason" | "message">;

/** One look at one autoscaler. */
class Pass {
  readonly #ctx: Context;
  readonly #client: Client;
  readonly #autoscaler: Autoscaler;
  readonly #memory: Memory;
  readonly #conditions = new Map<string, Condition>();
  #metrics: MetricStatus[] | undefined;
  readonly #nowMs: number;

  constructor(ctx: Context, client: Client, autoscaler: Autoscaler, memory: Memory) {
    this.#ctx = ctx;
    this.#client = client;
    this.#autoscaler = autoscaler;
    this.#memory = memory;
    this.#nowMs = ctx.clock.now();
  }

  async run(): Promise<void> {
    const { spec, status } = this.#autoscaler;
    let scale: Scale;
    try {
      scale = await this.#readScale();
    } catch (error) {
      const message = `the HPA controller was unable to get the target's current scale: ${serverMessage(error)}`;
      this.#warn("FailedGetScale", serverMessage(error));
      this.#say("AbleToScale", "False", "FailedGetScale", message);
      return await this.#report(status?.currentReplicas ?? 0, status?.desiredReplicas ?? 0);
    }
    this.#say(
      "AbleToScale",
      "True",
      "SucceededGetScale",
      "the HPA controller was able to get the target's current scale",
    );
    const current = scale.object.spec?.replicas ?? 0;
    if (current === 0 && spec.minReplicas !== 0) {
      this.#say(
        "ScalingActive",
        "False",
        "ScalingDisabled",
        "scaling is disabled since the replica count of the target is zero",
      );
      return await this.#report(current, 0);
    }
    const wanted = await this.#wanted(scale, current);
    if (wanted === undefined) return await this.#report(scale.object.status?.replicas ?? current, current);
    await this.#rescale(scale, current, wanted);
  }

  async #rescale(scale: Scale, current: number, wanted: { replicas: number; reason: string }): Promise<void> {
    const { spec } = this.#autoscaler;
    const min = spec.minReplicas ?? 1;
    let desired: number;
    let reason = wanted.reason;
    if (current > spec.maxReplicas)
      [desired, reason] = [spec.maxReplicas, "Current number of replicas above Spec.MaxReplicas"];
    else if (current < min) [desired, reason] = [min, "Current number of replicas below Spec.MinReplicas"];
    else {
      const result = limited(spec, current, wanted.replicas, this.#memory, this.#nowMs);
      this.#remember(wanted.replicas);
      desired = result.replicas;
      this.#say("AbleToScale", "True", result.able.reason, result.able.message);
      this.#say("ScalingLimited", result.limit.status, result.limit.reason, result.limit.message);
    }
    if (desired === current) return await this.#report(scale.object.status?.replicas ?? current, desired);
    try {
      const object = { ...scale.object, spec: { ...scale.object.spec, replicas: desired } };
      await this.#client
        .kind(scale.kind)
        .subresource("scale")
        .update(object as never);
    } catch (error) {
      const message = serverMessage(error);
      this.#warn("FailedRescale", `New size: ${desired}; reason: ${reason}; error: ${message}`);
      this.#say(
        "AbleToScale",
        "False",
        "FailedUpdateScale",
        `the HPA controller was unable to update the target scale: ${message}`,
      );
      return await this.#report(scale.object.status?.replicas ?? current, current);
    }
    this.#ctx.event(
      this.#autoscaler,
      "Normal",
      "SuccessfulRescale",
      `New size: ${desired}; reason: ${reason}`,
    );
    this.#say(
      "AbleToScale",
      "True",
      "SucceededRescale",
      `the HPA controller was able to update the target scale to ${desired}`,
    );
    this.#memory.changes = [...this.#memory.changes, { atMs: this.#nowMs, by: desired - current }];
    await this.#report(scale.object.status?.replicas ?? current, desired, formatTime(this.#nowMs));
  }

  #remember(replicas: number): void {
    const isRecent = ({ atMs }: { atMs: number }) => this.#nowMs - atMs < rememberedMs;
    this.#memory.recommendations = [
      ...this.#memory.recommendations.filter(isRecent),
      { atMs: this.#nowMs, replicas },
    ];
    this.#memory.changes = this.#memory.changes.filter(isRecent);
  }

  async #readScale(): Promise<Scale> {
    const { metadata, spec } = this.#autoscaler;
    const { apiVersion = "", kind: name } = spec.scaleTargetRef;
    const kind = await this.#client.discover(apiVersion, name);
    const ref = { name: spec.scaleTargetRef.name, namespace: metadata.namespace };
    const object = (await this.#client
      .kind(kind)
      .subresource("scale")
      .get(ref)) as unknown as Scale["object"];
    return { kind, object };
  }

  /** The largest number that a metric asks for. One that cannot be read keeps the others from scaling down. */
  async #wanted(scale: Scale, current: number): Promise<{ replicas: number; reason: string } | undefined> {
    const { spec, metadata } = this.#autoscaler;
    const selector = scale.object.status?.selector ?? "";
    if (selector === "") {
      const message = "the HPA target's scale is missing a selector";
      this.#warn("SelectorRequired", message);
      this.#say("ScalingActive", "False", "InvalidSelector", message);
      return undefined;
    }
    const labels = parseLabelSelector(selector);
    const pods = this.#ctx.caches.pods
      .list(metadata.namespace)
      .filter((pod) => matchesLabels(labels, pod.metadata.labels));
    const found: { replicas: number; reason: string }[] = [];
    const statuses: MetricStatus[] = [];
    const failures: MetricError[] = [];
    for (const metric of spec.metrics ?? []) {
      try {
        const measured = await this.#measure(metric, pods, current, selector);
        statuses.push(measured.status);
        found.push({ replicas: measured.replicas, reason: measured.name });
      } catch (error) {
        failures.push(asMetricError(error));
      }
    }
    this.#metrics = statuses;
    for (const failure of failures) this.#warn(failure.reason, failure.message);
    const [first] = failures;
    const best = found.reduce<(typeof found)[number] | undefined>(
      (most, each) => (most && most.replicas >= each.replicas ? most : each),
      undefined,
    );
    if (first && (!best || best.replicas < current)) {
      this.#say(
        "ScalingActive",
        "False",
        first.reason,
        `the HPA was unable to compute the replica count: ${first.message}`,
      );
      if (!best)
        this.#warn(
          "FailedComputeMetricsReplicas",
          `invalid metrics (${failures.length} invalid out of ${spec.metrics?.length ?? 0}), first error is: ${first.message}`,
        );
      return undefined;
    }
    if (!best) return undefined;
    this.#say(
      "ScalingActive",
      "True",
      "ValidMetricFound",
      `the HPA was able to successfully calculate a replica count from ${best.reason}`,
    );
    const reason =
      best.replicas > current
        ? `${best.reason} above target`
        : best.replicas < current
          ? "All metrics below target"
          : "";
    return { replicas: best.replicas, reason };
  }

  async #measure(
    metric: MetricSpec,
    pods: readonly PodObject[],
    current: number,
    selector: string,
  ): Promise<{ replicas: number; name: string; status: MetricStatus }> {
    const source = metric.resource ?? metric.containerResource;
    if (!source || (metric.type !== "Resource" && metric.type !== "ContainerResource")) {
      throw new MetricError(
        `FailedGet${metric.type}Metric`,
        `unable to get metrics of type ${metric.type}: no custom metrics API is served`,
      );
    }
    const container = metric.type === "ContainerResource" ? metric.containerResource?.container : undefined;
    const usage = await this.#usage(source.name, container, selector);
    const measured = replicasFor({
      ...{ resource: source.name, target: source.target, pods, usage, current, nowMs: this.#nowMs },
      ...(container !== undefined && { container }),
    });
    return { replicas: measured.replicas, ...describe(metric, measured) };
  }

  /** Milli-units by pod; a pod of which a container is missing has none. */
  async #usage(resource: string, container: string | undefined, selector: string): Promise<PodUsage> {
    const { namespace } = this.#autoscaler.metadata;
    let items: readonly Stored[];
    try {
      ({ items } = await this.#client.kind(PodMetrics).list({ namespace, labels: selector }));
    } catch (error) {
      throw new MetricError(
        "FailedGetResourceMetric",
        `failed to get ${resource} utilization: unable to get metrics for resource ${resource}: unable to fetch metrics from resource metrics API: ${serverMessage(error)}`,
      );
    }
    if (items.length === 0)
      throw new MetricError(
        "FailedGetResourceMetric",
        `failed to get ${resource} utilization: unable to get metrics for resource ${resource}: no metrics returned from resource metrics API`,
      );
    const usage = new Map<string, number>();
    for (const item of items) {
      const { containers = [] } = item as unknown as {
        containers?: { name: string; usage: Record<string, string> }[];
      };
      const counted = containers.filter(({ name }) => container === undefined || name === container);
      if (counted.length === 0 || counted.some((each) => each.usage[resource] === undefined)) continue;
      usage.set(
        item.metadata.name,
        counted.reduce((total, each) => total + milli(each.usage[resource] ?? 0), 0),
      );
    }
    return usage;
  }

  #warn(reason: string, message: string): void {
    this.#ctx.event(this.#autoscaler, "Warning", reason, message);
  }

  #say(type: string, status: "True" | "False", reason: string, message: string): void {
    this.#conditions.set(type, { type, status, reason, message });
  }

  async #report(currentReplicas: number, desiredReplicas: number, lastScaleTime?: string): Promise<void> {
    const { status: before, metadata } = this.#autoscaler;
    const conditions = (before?.conditions ?? []).map((old) => this.#next(old));
    for (const [type, condition] of this.#conditions)
      if (!conditions.some((each) => each.type === type))
        conditions.push({ ...condition, lastTransitionTime: formatTime(this.#nowMs) });
    const status = {
      ...before,
      conditions,
      currentReplicas,
      desiredReplicas,
      ...(this.#metrics && { currentMetrics: this.#metrics }),
      ...(lastScaleTime && { lastScaleTime }),
      ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    };
    if (deepEqual(status as unknown as JsonObject, (before ?? {}) as unknown as JsonObject)) return;
    try {
      await this.#ctx
        .kind(HorizontalPodAutoscaler)
        .subresource("status")
        .update({ ...this.#autoscaler, status });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #next(old: HorizontalPodAutoscalerCondition): HorizontalPodAutoscalerCondition {
    const said = this.#conditions.get(old.type);
    if (!said) return old;
    const lastTransitionTime = said.status === old.status ? old.lastTransitionTime : formatTime(this.#nowMs);
    return { ...said, ...(lastTransitionTime !== undefined && { lastTransitionTime }) };
  }
}

function asMetricError(error: unknown): MetricError {
  if (error instanceof MetricError) return error;
  return new MetricError("FailedGetResourceMetric", serverMessage(error));
}

function describe(metric: MetricSpec, measured: Measured): { name: string; status: MetricStatus } {
  const source = metric.resource ?? metric.containerResource;
  const resource = source?.name ?? "";
  const current = {
    averageValue:
      resource === "cpu" ? `${measured.averageValue}m` : String(Math.round(measured.averageValue / 1000)),
    ...(measured.averageUtilization !== undefined && { averageUtilization: measured.averageUtilization }),
  };
  const share = measured.averageUtilization === undefined ? "" : " utilization (percentage of request)";
  if (metric.type === "ContainerResource") {
    const container = metric.containerResource?.container ?? "";
    return {
      name: `${resource} container resource${share}`,
      status: { type: metric.type, containerResource: { name: resource, container, current } },
    };
  }
  return {
    name: `${resource} resource${share}`,
    status: { type: metric.type, resource: { name: resource, current } },
  };
}
