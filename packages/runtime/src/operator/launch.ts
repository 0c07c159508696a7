/** Puts an operator together from its options and sets it going. */
import { type Client, isTransient, systemWorld } from "@keelson/client";
import { type Cancel, groupKind, type World } from "@keelson/core";
import { InformerSet } from "../cache/informer-set.ts";
import { type AnyController, isRaw } from "../controller/permissions.ts";
import { RuntimeError } from "../errors.ts";
import { type ConnectSettings, type Election, elect } from "../leader/election.ts";
import { fenced, openFence } from "../leader/fence.ts";
import { defaultLogger } from "../log/default-logger.ts";
import type { Logger } from "../log/logger.ts";
import { collectAtRest, type RestingProcess, thisProcess } from "../memory/rest.ts";
import { directConnector, forwardConnector } from "../reconcile/connector.ts";
import { Stragglers } from "../reconcile/deadline.ts";
import { EventRecorder } from "../reconcile/event-recorder.ts";
import { Loop, type LoopObserver } from "../reconcile/loop.ts";
import { RawRunner } from "../reconcile/raw-runner.ts";
import { Reconciler } from "../reconcile/reconciler.ts";
import { reportSynced } from "../reconcile/report.ts";
import type { Services } from "../reconcile/services.ts";
import { convertedAmong } from "../webhook/configurations.ts";
import type { RunningWebhooks, WebhookServerOptions } from "../webhook/webhooks.ts";
import { ControllerSet } from "./controller-set.ts";
import { cachesReady, type Endpoints, leaseReady, serveEndpoints } from "./endpoints.ts";
import { Health } from "./health.ts";
import { metricText } from "./metric-text.ts";
import { type Metrics, type MetricsText, noMetrics } from "./metrics.ts";
import { openers } from "./openers.ts";
import { nameOf, type OperatorOptions } from "./options.ts";
import { PrometheusMetrics } from "./prometheus.ts";
import { reach } from "./reach.ts";
import { Running } from "./running.ts";
import { type WakeSources, wake } from "./wakes.ts";

/** What the steps below share. */
interface Setting {
  readonly options: OperatorOptions;
  readonly world: World;
  readonly inCluster: boolean;
  readonly name: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Present once there are loops. */
  readonly wakes: { current: WakeSources | undefined };
}

/**
 * Everything is under way, and can be stopped, before the caches are complete: that may take for ever. `stop` ends the wait
 * for an API server.
 */
export async function launch(
  options: OperatorOptions,
  stop?: AbortSignal,
): Promise<{ running: Running; synced: Promise<void> }> {
  const setting = await settingOf(options);
  const { world, name, log, metrics, health } = setting;
  // Before anything is asked of the API server: that may take longer than a probe waits, and the process is alive.
  const endpoints = await openEndpoints(setting);
  const { client: plain, own, settings } = await openClient(setting, endpoints, stop);
  // Before any cache is filled: what is stored at another version is converted by these very webhooks.
  const webhooks = await openWebhooks(setting, plain);
  const election = electionFor(setting, plain, own && !options.world ? settings : undefined);
  const set = new ControllerSet();
  const services = servicesFor(setting, plain, election, set);
  const places = placesOf(options, services);
  const { informers, events, clock, stragglers } = services;
  const loopsFor = (controller: AnyController) => {
    const observer = metrics.observerFor(controller.name, concurrencyOf(controller));
    return places.map((place) => loopFor(controller, place, observer));
  };
  set.open({ client: services.client, informers, loopsFor }, options.controllers);
  const { loops } = set;
  metrics.watch({ loops, informers, leading: () => election?.leading ?? true, name });
  setting.wakes.current = {
    controllers: set.controllers,
    loops,
    leading: () => election?.leading ?? true,
  };
  for (const loop of loops) loop.listen();
  informers.start();
  election?.run();
  const staleMs = options.staleMs ?? 120_000;
  const caches = cachesReady(informers, {
    now: () => world.clock.monotonic(),
    staleMs,
    mayBeIncomplete: webhooks?.converts ?? false,
  });
  health.follow(() => webhooks?.problem() ?? caches() ?? (election && leaseReady(election, staleMs)));
  const running = new Running({
    loops,
    controllers: set,
    informers,
    events,
    clock,
    log,
    health,
    endpoints,
    election,
    stragglers,
    webhooks,
    lingerMs: setting.inCluster ? 3_000 : 0,
    client: own ? plain : undefined,
    shutdownMs: options.shutdownMs ?? 20_000,
    ...(options.world ? {} : restOf(thisProcess())),
  });
  running.work();
  const synced = informers.whenSynced().then(() => {
    const objects = informers.all().reduce((sum, { cache }) => sum + cache.size, 0);
    log.info("caches are complete", { objects });
    reportSynced(name);
  });
  synced.catch(() => {});
  return { running, synced };
}

/** A process whose world is simulated has others in it. */
function restOf(process: RestingProcess | undefined): { readonly endRest?: Cancel } {
  return process ? { endRest: collectAtRest(process) } : {};
}

async function settingOf(options: OperatorOptions): Promise<Setting> {
  const world = options.world ?? systemWorld;
  const inCluster = world.process.env.KUBERNETES_SERVICE_HOST !== undefined;
  const name = nameOf(options);
  const log = options.log ?? (await defaultLogger(name, options.logLevel));
  const counts = options.metrics ?? (options.endpoints ?? inCluster) !== false;
  const metrics = counts ? new PrometheusMetrics() : noMetrics;
  return {
    options,
    world,
    inCluster,
    name,
    log,
    metrics,
    health: new Health(),
    wakes: { current: undefined },
  };
}

async function openEndpoints(setting: Setting): Promise<Endpoints | undefined> {
  const { options, inCluster, log, metrics, health } = setting;
  const wanted = options.endpoints ?? inCluster;
  if (!wanted) return undefined;
  const endpoints = await serveEndpoints(wanted === true ? {} : wanted, {
    alive: health.alive,
    ready: health.ready,
    metrics: withOwn(metrics, options.collect),
    wake: (path, request) => wake(path, request, setting.wakes.current),
  });
  log.info("health, readiness and metrics are served", { port: endpoints.port });
  return endpoints;
}

function withOwn(metrics: Metrics, collect: OperatorOptions["collect"]): MetricsText {
  if (!collect) return metrics;
  const text = async () => {
    const { body, contentType } = await metrics.text();
    return { body: `${body}${metricText(collect())}`, contentType };
  };
  return { text };
}

/** `own` when the client was made here and must be closed with the operator. */
async function openClient(
  { options, world, inCluster, log, health }: Setting,
  endpoints: Endpoints | undefined,
  stop: AbortSignal | undefined,
): Promise<{ client: Client; own: boolean; settings: ConnectSettings }> {
  const given = options.client && "kind" in options.client ? options.client : undefined;
  const settings = options.client && !("kind" in options.client) ? options.client : {};
  let said = false;
  for (;;) {
    try {
      const client = await reach(given, { ...settings, world }, options.controllers);
      return { client, own: given === undefined, settings };
    } catch (error) {
      // A pod that ended would be started again later and later; a person at a terminal wants to know at once.
      if (!inCluster || !isTransient(error) || stop?.aborted) {
        await endpoints?.[Symbol.asyncDispose]();
        throw error;
      }
      if (!said) log.warn("the API server does not answer: the operator begins when it does", { error });
      said = true;
      health.follow(() => `the operator waits for the API server: ${(error as Error).message}`);
      await pause(world.clock, reachAgainMs, stop);
    }
  }
}

const reachAgainMs = 1_000;

async function pause(clock: World["clock"], ms: number, stop: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.timer(ms, resolve);
  stop?.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  cancel();
}

/** What an installation says of the certificate: one by the Operator Lifecycle Manager has it kept there. */
function servedBy(env: Readonly<Record<string, string | undefined>>): WebhookServerOptions {
  const { WEBHOOK_CERTIFICATES: kept, WEBHOOK_SECRET: secret } = env;
  return {
    ...(kept === "given" ? { certificates: kept } : {}),
    ...(secret ? { secret } : {}),
  };
}

/** Undefined when there are none, or nobody could ask them. */
async function openWebhooks(setting: Setting, client: Client): Promise<RunningWebhooks | undefined> {
  const { options, world, inCluster, name, log, metrics } = setting;
  const { webhooks = [], controllers } = options;
  const webhookServer = webhookServerOf(options, world.process.env);
  const converted = convertedAmong([
    ...controllers.flatMap((each) => (isRaw(each) ? [] : [each.kind])),
    ...webhooks.map(({ kind }) => kind),
  ]);
  if (webhooks.length === 0 && converted.length === 0) return undefined;
  const opener = openers.get(options);
  if (!inCluster && webhookServer.url === undefined && !opener) {
    log.warn(
      "webhooks are not served: outside a cluster webhookServer.url, or the variable KEELSON_WEBHOOK_URL, says where the API server finds them",
    );
    return undefined;
  }
  const parts = {
    ...{ client, clock: world.clock, log, name, webhooks, converted, options: webhookServer },
    observer: {
      answered: (path: string, status: number, seconds: number) => metrics.webhook(path, status, seconds),
    },
  };
  if (opener) return await opener(parts);
  // With all that certificates need: most operators have no webhooks.
  const { RunningWebhooks } = await import("../webhook/webhooks.ts");
  return await RunningWebhooks.start(parts);
}

/** A tool that starts the operator outside a cluster says where it is found, and so where it listens. */
function webhookServerOf(
  { webhookServer = {} }: OperatorOptions,
  env: Readonly<Record<string, string | undefined>>,
): WebhookServerOptions {
  const { KEELSON_WEBHOOK_URL: url } = env;
  const served = { ...servedBy(env), ...webhookServer };
  if (served.url !== undefined || !url) return served;
  const { hostname, port } = new URL(url);
  // Who is found on this machine alone need not listen to others.
  const host = /^(127\.[\d.]+|localhost|\[::1\])$/.test(hostname)
    ? { host: hostname.replace(/^\[|\]$/g, "") }
    : {};
  return { port: Number(port) || 443, ...host, ...served, url };
}

/** `connect` is given when another thread can make the same connection, to hold the lease there. */
function electionFor(
  { options, world, inCluster, name, log }: Setting,
  client: Client,
  connect: ConnectSettings | undefined,
): Election | undefined {
  const wanted = options.leaderElection ?? inCluster;
  if (!wanted) return undefined;
  return elect(wanted === true ? {} : wanted, { client, ...(connect && { connect }), world, name, log });
}

function servicesFor(
  { options, world, inCluster, log, metrics }: Setting,
  plain: Client,
  election: Election | undefined,
  controllers: ControllerSet,
): Services {
  const { clock, random } = world;
  const host = plain.host ?? "";
  const fence = election?.fence ?? openFence;
  const client = fenced(plain, {
    fence,
    ...(election ? { writeTimeoutMs: election.timings.writeTimeoutMs } : {}),
    onRequest: (method, status) => metrics.request(host, method, status),
  });
  return {
    client,
    mayWrite: () => fence.mayWrite(),
    informers: new InformerSet({ client, clock, log }),
    events: new EventRecorder({ client, clock, log, instance: world.process.hostname }),
    connect: options.connect ?? (inCluster ? directConnector(client) : forwardConnector(client)),
    clock,
    random,
    log,
    controllers,
    stragglers: new Stragglers(),
    wholeKinds: wholeKindsOf(options.controllers),
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
  };
}

/** Kinds that are cached without a selector, for whatever reason. */
function wholeKindsOf(controllers: readonly AnyController[]): ReadonlySet<string> {
  const kinds = controllers.flatMap((controller) => {
    if (isRaw(controller)) return [];
    const reads = Object.values(controller.reads).filter(
      (read) => read.role === "select" || (read.role === "all" && read.labels === undefined),
    );
    const primary = controller.options.labels === undefined ? [controller.kind] : [];
    return [...primary, ...reads.flatMap(({ kind }) => kind ?? [])];
  });
  return new Set(kinds.map(groupKind));
}

function loopFor(controller: AnyController, services: Services, observer: LoopObserver): Loop {
  const { clock, random, log, namespace } = services;
  const definition = isRaw(controller)
    ? new RawRunner(controller, services)
    : new Reconciler(controller, services);
  const place = namespace === undefined ? controller.name : `${controller.name}/${namespace}`;
  return new Loop(definition, {
    clock,
    random: random.fork(`queue/${place}`),
    log: log.child({ controller: controller.name }),
    observer,
  });
}

function concurrencyOf({ options }: AnyController): number {
  return options.concurrency;
}

/** Each namespace by itself, or all of them at once. */
function placesOf(options: OperatorOptions, services: Services): Services[] {
  const { namespace, namespaces, controllers } = options;
  if (namespaces === undefined) return [services];
  const global = controllers.find((each) => !isRaw(each) && each.kind.scope === "Cluster");
  if (global || namespace !== undefined || namespaces.length === 0) {
    throw new RuntimeError(
      "InvalidDeclaration",
      global
        ? `controller "${global.name}" is for a kind without a namespace: it cannot be limited to ${namespaces.join(", ")}`
        : "give namespace or namespaces, and at least one of them",
    );
  }
  return [...new Set(namespaces)].map((each) => ({ ...services, namespace: each }));
}
