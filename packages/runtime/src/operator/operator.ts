/** An operator: controllers, what they share, and their life from start to stop. */
import { type Client, ClientError, type ConnectOptions, connect, systemWorld } from "@keelson/client";
import { type AnyKind, apiVersionOf, type Clock, groupKind, type World } from "@keelson/core";
import { InformerSet } from "../cache/informer-set.ts";
import type { Controller } from "../controller/controller.ts";
import { isRaw, permissionsOf } from "../controller/permissions.ts";
import type { RawController } from "../controller/raw-controller.ts";
import { RuntimeError } from "../errors.ts";
import { type Election, elect, type LeaderElectionOptions } from "../leader/election.ts";
import { fenced, openFence } from "../leader/fence.ts";
import { defaultLogger } from "../log/default-logger.ts";
import type { Logger } from "../log/logger.ts";
import { type Connector, directConnector, forwardConnector } from "../reconcile/connector.ts";
import { Stragglers } from "../reconcile/deadline.ts";
import { EventRecorder } from "../reconcile/event-recorder.ts";
import { Loop } from "../reconcile/loop.ts";
import { RawRunner } from "../reconcile/raw-runner.ts";
import { Reconciler } from "../reconcile/reconciler.ts";
import type { Services } from "../reconcile/services.ts";
import {
  type Check,
  cachesReady,
  type EndpointOptions,
  type Endpoints,
  serveEndpoints,
} from "./endpoints.ts";
import { type MetricFamily, type Metrics, metricText, noMetrics, prometheusMetrics } from "./metrics.ts";

export type AnyController = Controller | RawController;

export interface OperatorOptions {
  readonly controllers: readonly AnyController[];
  /** Names the operator in logs and its lease; the first controller's name unless given. */
  readonly name?: string;
  /** Looks at this namespace only; at all of them unless given. */
  readonly namespace?: string;
  /** Who we talk to: a client, or how to connect one; the cluster that the environment names unless given. */
  readonly client?: Client | Pick<ConnectOptions, "kubeconfig" | "context" | "impersonate">;
  /** Of several replicas one works. On inside a cluster and off elsewhere, unless told. */
  readonly leaderElection?: boolean | LeaderElectionOptions;
  /** `/healthz`, `/readyz` and `/metrics`. On port 8080 inside a cluster and off elsewhere, unless told. */
  readonly endpoints?: boolean | EndpointOptions;
  /** Counts for Prometheus; on where there are endpoints, unless told. */
  readonly metrics?: boolean;
  /** Metrics of the operator's own, served beside those of its controllers. */
  readonly collect?: () => readonly MetricFamily[];
  readonly world?: World;
  /** Plain lines at a terminal and JSON elsewhere, from `info` on, unless given. */
  readonly log?: Logger;
  /** How long a stop waits for reconciles under way; 20 s unless told. A pod has 30 s by default. */
  readonly shutdownMs?: number;
  /** A cache that is cut off for longer makes the operator unready; 2 minutes unless told. */
  readonly staleMs?: number;
  /** How `ctx.connect` reaches applications: directly inside a cluster, by port-forward elsewhere, unless told. */
  readonly connect?: Connector;
}

export interface Operator {
  readonly controllers: readonly AnyController[];
  /** Starts, and resolves when every cache is complete: the operator works, or stands by. */
  start(): Promise<RunningOperator>;
  /**
   * Runs until a signal ends it or it cannot go on, stops within `shutdownMs`, and resolves with the exit code, which
   * is also set on the process: 0 after a signal, 1 when it could not start, lost its lease or its caches.
   */
  run(): Promise<number>;
}

export interface RunningOperator extends AsyncDisposable {
  readonly loops: readonly Loop[];
  readonly informers: InformerSet;
  readonly events: EventRecorder;
  /** The port of the endpoints, when there are any. */
  readonly port: number | undefined;
  readonly leading: boolean;
  /** Resolves when this process leads; at once without leader election. */
  readonly whenLeading: Promise<void>;
  /** Resolves when the operator cannot go on. It has stopped working then; `stop` still closes what is open. */
  readonly failed: Promise<Error>;
  /** Undefined when all is well, otherwise why not. */
  ready(): string | undefined;
  /** Reconciles that were told to end and go on: a process that has any must not live on. */
  readonly stragglers: number;
  /**
   * Lets reconciles under way end, within the deadline, gives the lease back and closes what was opened. The lease is
   * left to run out when a reconcile goes on although it was told to end.
   */
  stop(): Promise<void>;
}

/** Makes an operator. It does nothing until it is started. */
export function operator(options: OperatorOptions): Operator {
  const names = options.controllers.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new RuntimeError(
      "InvalidDeclaration",
      `two controllers are named "${twice}"; names mark children and field managers, so give one another name`,
    );
  }
  return {
    controllers: options.controllers,
    start: async () => await start(options),
    run: async () => await run(options),
  };
}

/** Events are told to people; they do not hold up the end. */
const eventPatienceMs = 2_000;
/** What listens to its signal ends at once. */
const stragglerPatienceMs = 1_000;

async function start(options: OperatorOptions): Promise<RunningOperator> {
  const { running, synced } = await launch(options);
  try {
    await synced;
  } catch (error) {
    await running.stop();
    throw error;
  }
  return running;
}

/** Everything is under way, and can be stopped, before the caches are complete: that may take for ever. */
async function launch(
  options: OperatorOptions,
): Promise<{ running: RunningOperator; synced: Promise<void> }> {
  const world = options.world ?? systemWorld;
  const { clock, random } = world;
  const inCluster = world.process.env.KUBERNETES_SERVICE_HOST !== undefined;
  const name = options.name ?? options.controllers[0]?.name ?? "operator";
  const log = options.log ?? (await defaultLogger(name));
  const endpointsWanted = options.endpoints ?? inCluster;
  const metrics = (options.metrics ?? endpointsWanted !== false) ? await prometheusMetrics() : noMetrics;
  const failed = Promise.withResolvers<Error>();
  let stopping: Promise<void> | undefined;
  let lost: Error | undefined;
  let fresh: Check = () => "the operator is starting";
  const ready = () => (stopping ? "the operator is stopping" : (lost?.message ?? fresh()));
  // Before anything is asked of the API server: that may take longer than a probe waits, and the process is alive.
  const endpoints: Endpoints | undefined = endpointsWanted
    ? await serveEndpoints(endpointsWanted === true ? {} : endpointsWanted, {
        alive: () => lost?.message,
        ready,
        metrics: withOwn(metrics, options.collect),
      })
    : undefined;
  if (endpoints) log.info("health, readiness and metrics are served", { port: endpoints.port });
  const given = options.client && "kind" in options.client ? options.client : undefined;
  const settings = options.client && !("kind" in options.client) ? options.client : {};
  const plain = await reach(given, { ...settings, world }, options.controllers).catch(async (error) => {
    await endpoints?.[Symbol.asyncDispose]();
    throw error;
  });
  const wanted = options.leaderElection ?? inCluster;
  const election: Election | undefined = wanted
    ? elect(wanted === true ? {} : wanted, {
        client: plain,
        ...(given || options.world ? {} : { connect: settings }),
        world,
        name,
        log,
      })
    : undefined;
  const host = plain.host ?? "";
  const client = fenced(plain, {
    fence: election?.fence ?? openFence,
    ...(election ? { writeTimeoutMs: election.timings.writeTimeoutMs } : {}),
    onRequest: (method, status) => metrics.request(host, method, status),
  });
  const informers = new InformerSet({ client, clock, log });
  const events = new EventRecorder({ client, clock, log, instance: world.process.hostname });
  const stragglers = new Stragglers();
  const services: Services = {
    client,
    informers,
    events,
    connect: options.connect ?? (inCluster ? directConnector(client) : forwardConnector(client)),
    clock,
    random,
    log,
    stragglers,
    wholeKinds: wholeKindsOf(options.controllers),
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
  };
  const loops = options.controllers.map((controller) => {
    const definition = isRaw(controller)
      ? new RawRunner(controller, services)
      : new Reconciler(controller, services);
    return new Loop(definition, {
      clock,
      random: random.fork(`queue/${controller.name}`),
      log: log.child({ controller: controller.name }),
      observer: metrics.observerFor(controller.name, definition.concurrency),
    });
  });
  metrics.watch({ loops, informers, leading: () => election?.leading ?? true, name });
  for (const loop of loops) loop.listen();
  informers.start();
  election?.run();

  fresh = cachesReady(informers, () => clock.monotonic(), options.staleMs ?? 120_000);
  const giveUp = (error: Error) => {
    if (stopping || lost) return;
    lost = error;
    for (const loop of loops) loop.abort(error);
    failed.resolve(error);
  };
  const whenLeading = election?.acquired ?? Promise.resolve();
  void election?.lost.then(giveUp);
  // Rejects only when a cache became impossible to keep.
  void whenLeading.then(() => Promise.all(loops.map((loop) => loop.run()))).catch(giveUp);

  const running: RunningOperator = {
    loops,
    informers,
    events,
    port: endpoints?.port,
    get leading() {
      return election?.leading ?? true;
    },
    whenLeading,
    failed: failed.promise,
    ready,
    get stragglers() {
      return stragglers.size;
    },
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
    [Symbol.asyncDispose]: () => running.stop(),
  };
  const synced = informers.whenSynced().then(() => {
    const objects = informers.all().reduce((sum, { cache }) => sum + cache.size, 0);
    log.info("caches are complete", { objects });
  });
  synced.catch(() => {});
  return { running, synced };

  async function stop(): Promise<void> {
    const patience = clock.timer(options.shutdownMs ?? 20_000, () => {
      log.warn("reconciles under way did not end in time and are aborted");
      for (const loop of loops) loop.abort();
    });
    await Promise.all(loops.map((loop) => loop.drain()));
    patience();
    await patiently(clock, events.flush(), eventPatienceMs);
    await patiently(clock, stragglers.ended(), stragglerPatienceMs);
    await election?.stop({ keep: stragglers.size > 0 });
    await informers.stop();
    await endpoints?.[Symbol.asyncDispose]();
    if (!given) await plain.close();
  }
}

/** Kinds that are cached without a selector, for whatever reason. */
function wholeKindsOf(controllers: readonly AnyController[]): ReadonlySet<string> {
  const kinds = controllers.flatMap((controller) => {
    if (isRaw(controller)) return [];
    const reads = Object.values(controller.reads).filter(
      (read) => read.role === "select" || (read.role === "all" && read.labels === undefined),
    );
    const primary = controller.options.labels === undefined ? [controller.kind] : [];
    return [...primary, ...reads.map(({ kind }) => kind)];
  });
  return new Set(kinds.map(groupKind));
}

function withOwn(metrics: Metrics, collect: OperatorOptions["collect"]): Metrics {
  if (!collect) return metrics;
  const text = async () => {
    const { body, contentType } = await metrics.text();
    return { body: `${body}${metricText(collect())}`, contentType };
  };
  return { ...metrics, text };
}

/** Waits for the work, but not for long. */
async function patiently(clock: Clock, work: Promise<void>, ms: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = clock.timer(ms, late.resolve);
  await Promise.race([work, late.promise]);
  cancel();
}

async function run(options: OperatorOptions): Promise<number> {
  const name = options.name ?? options.controllers[0]?.name ?? "operator";
  const log = options.log ?? (await defaultLogger(name));
  const signalled = Promise.withResolvers<"signal">();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals) => {
    signals++;
    // Asked twice, a person means now.
    if (signals > 1) process.exit(1);
    log.info("stopping", { signal });
    signalled.resolve("signal");
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  // Nothing else may be under way while we wait; the process lives on all the same.
  const alive = setInterval(() => {}, 2 ** 30);
  let code = 0;
  try {
    const { running, synced } = await launch({ ...options, log });
    const broken = synced.then(
      () => running.failed,
      (error: Error) => error,
    );
    const end = await Promise.race([broken, running.failed, signalled.promise]);
    if (end !== "signal") {
      log.error("the operator cannot go on", { error: end });
      code = 1;
    }
    await running.stop();
    if (running.stragglers > 0) {
      log.error("reconciles go on although they were told to end: the process ends without them", {
        reconciles: running.stragglers,
      });
      process.exit(code);
    }
  } catch (error) {
    log.error("the operator could not start", { error });
    code = 1;
  } finally {
    clearInterval(alive);
    process.off("SIGTERM", onSignal);
    process.off("SIGINT", onSignal);
  }
  process.exitCode = code;
  return code;
}

/** A client of a server that has what the controllers need. */
async function reach(
  given: Client | undefined,
  settings: ConnectOptions,
  controllers: readonly AnyController[],
): Promise<Client> {
  const client = given ?? (await connect(settings));
  try {
    await refuseMissingKinds(client, controllers);
    return client;
  } catch (error) {
    if (!given) await client.close();
    throw error;
  }
}

/** A kind that the server does not serve is one clear sentence at the start, not an endless retry. */
async function refuseMissingKinds(client: Client, controllers: readonly AnyController[]): Promise<void> {
  const kinds = new Map<string, { kind: AnyKind; controller: string }>();
  for (const controller of controllers) {
    for (const { kind, subresource, verbs } of permissionsOf(controller)) {
      if (subresource === undefined && verbs.includes("watch")) {
        kinds.set(`${apiVersionOf(kind)}/${kind.kind}`, { kind, controller: controller.name });
      }
    }
  }
  for (const { kind, controller } of kinds.values()) {
    try {
      await client.discover(apiVersionOf(kind), kind.kind);
    } catch (error) {
      if (!(error instanceof ClientError && error.code === "KindUnknown")) throw error;
      const advice =
        "crd" in kind
          ? "install its CustomResourceDefinition first (keelson generate writes it)"
          : "install what provides it, or correct the version";
      throw new RuntimeError(
        "KindMissing",
        `controller "${controller}" needs ${groupKind(kind)} at ${apiVersionOf(kind)}, which the cluster does not ` +
          `serve; ${advice}`,
        { cause: error },
      );
    }
  }
}
