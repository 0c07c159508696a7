/** An operator: controllers, what they share, and their life from start to stop. */
import { type Client, ClientError, connect, systemWorld } from "@keelson/client";
import { type AnyKind, apiVersionOf, groupKind, type World } from "@keelson/core";
import { type Connector, directConnector } from "./connect.ts";
import type { Logger } from "./context.ts";
import type { Controller } from "./controller.ts";
import { RuntimeError } from "./errors.ts";
import { EventRecorder } from "./events.ts";
import { fenced, openFence } from "./fence.ts";
import { InformerSet } from "./informers.ts";
import { pinoLogger } from "./log.ts";
import { Loop } from "./loop.ts";
import { isRaw, permissionsOf } from "./permissions.ts";
import type { RawController } from "./raw-controller.ts";
import { RawRunner } from "./raw-runner.ts";
import { Reconciler } from "./reconciler.ts";
import type { Services } from "./services.ts";

export type AnyController = Controller | RawController;

export interface OperatorOptions {
  readonly controllers: readonly AnyController[];
  /** Names the operator in logs and its lease; the first controller's name unless given. */
  readonly name?: string;
  /** Looks at this namespace only; at all of them unless given. */
  readonly namespace?: string;
  /** The cluster that the environment names unless given. */
  readonly client?: Client;
  readonly world?: World;
  readonly log?: Logger;
  /** How long a stop waits for reconciles under way; 30 s unless told. */
  readonly shutdownMs?: number;
  /** How `ctx.connect` reaches applications. */
  readonly connect?: Connector;
}

export interface Operator {
  /** Starts, and resolves when caches follow the cluster and the controllers work (or stand by). */
  start(): Promise<RunningOperator>;
}

export interface RunningOperator extends AsyncDisposable {
  readonly loops: readonly Loop[];
  readonly informers: InformerSet;
  readonly events: EventRecorder;
  /** Lets reconciles under way end, within the deadline, and closes what was opened. */
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
  return { start: () => start(options) };
}

async function start(options: OperatorOptions): Promise<RunningOperator> {
  const world = options.world ?? systemWorld;
  const { clock } = world;
  const name = options.name ?? options.controllers[0]?.name ?? "operator";
  const log = options.log ?? (await pinoLogger({ name }));
  const plain = options.client ?? (await connect({ world }));
  await refuseMissingKinds(plain, options.controllers);
  const client = fenced(plain, openFence);
  const informers = new InformerSet({ client, clock, log });
  const events = new EventRecorder({ client, clock, log, instance: world.process.hostname });
  const services: Services = {
    client,
    informers,
    events,
    connect: options.connect ?? directConnector(client),
    clock,
    random: world.random,
    log,
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    observerFor: () => ({}),
  };
  const loops = options.controllers.map((controller) => {
    const definition = isRaw(controller)
      ? new RawRunner(controller, services)
      : new Reconciler(controller, services);
    const random = world.random.fork(`queue/${controller.name}`);
    return new Loop(definition, { clock, random, log: log.child({ controller: controller.name }) });
  });
  for (const loop of loops) loop.listen();
  informers.start();
  let stopping: Promise<void> | undefined;
  const running: RunningOperator = {
    loops,
    informers,
    events,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
    [Symbol.asyncDispose]: () => running.stop(),
  };
  await Promise.all(loops.map((loop) => loop.run()));
  return running;

  async function stop(): Promise<void> {
    const cancel = clock.timer(options.shutdownMs ?? 30_000, () => {
      for (const loop of loops) loop.abort();
    });
    await Promise.all(loops.map((loop) => loop.drain()));
    cancel();
    await events.flush();
    await informers.stop();
    if (!options.client) await plain.close();
  }
}

/** A kind that the server does not serve is one clear sentence at the start, not an endless retry. */
async function refuseMissingKinds(client: Client, controllers: readonly AnyController[]): Promise<void> {
  const kinds = new Map<string, { kind: AnyKind; controller: string }>();
  for (const controller of controllers) {
    for (const { kind, subresource, verbs } of permissionsOf(controller)) {
      if (subresource === undefined && verbs.includes("watch"))
        kinds.set(groupKind(kind), { kind, controller: controller.name });
    }
  }
  await Promise.all(
    [...kinds.values()].map(async ({ kind, controller }) => {
      try {
        await client.discover(apiVersionOf(kind), kind.kind);
      } catch (error) {
        if (!(error instanceof ClientError && error.code === "KindUnknown")) throw error;
        throw new RuntimeError(
          "KindMissing",
          `controller "${controller}" needs ${groupKind(kind)} (${apiVersionOf(kind)}), which the cluster does not ` +
            `serve; ${"crd" in kind ? "install its CustomResourceDefinition first (keelson generate)" : "is the version right?"}`,
          { cause: error },
        );
      }
    }),
  );
}
