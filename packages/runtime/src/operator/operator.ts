/** An operator: controllers, what they share, and their life from start to stop. */

import { groupKind } from "@keelson/core";
import type { Controller } from "../controller/controller.ts";
import { type AnyController, isRaw } from "../controller/permissions.ts";
import { RuntimeError } from "../errors.ts";
import { defaultLogger } from "../log/default-logger.ts";
import type { Logger } from "../log/logger.ts";
import type { Webhook } from "../webhook/webhook.ts";
import { launch } from "./launch.ts";
import { nameOf, type OperatorOptions } from "./options.ts";
import type { RunningOperator } from "./running.ts";

/** Controllers with all they need to run. `run()` blocks until a signal; `start()` returns. */
export interface Operator {
  /** The name of its lease and of its logs: what `keelson generate` installs it under. */
  readonly name: string;
  /** The namespace that it looks at; all of them when absent. */
  readonly namespace?: string;
  /** The namespaces that it looks at, where they are several. */
  readonly namespaces?: readonly string[];
  readonly controllers: readonly AnyController[];
  readonly webhooks: readonly Webhook[];
  /** Starts, and resolves when every cache is complete: the operator works, or stands by. */
  start(): Promise<RunningOperator>;
  /**
   * Runs until a signal ends it or it cannot go on, stops within `shutdownMs`, and resolves with the exit code, which
   * is also set on the process: 0 after a signal, 1 when it could not start, lost its lease or its caches. A process
   * that is still there 2 s later, or 5 s after `shutdownMs` when stopping takes so long, is ended.
   */
  run(): Promise<number>;
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
  refuseTwoStatusWriters(options.controllers);
  return {
    name: nameOf(options),
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    ...(options.namespaces === undefined ? {} : { namespaces: options.namespaces }),
    controllers: options.controllers,
    webhooks: options.webhooks ?? [],
    start: async () => await start(options),
    run: async () => await run(options),
  };
}

/** A status has one writer: two would undo each other's conditions without end. */
function refuseTwoStatusWriters(controllers: readonly AnyController[]): void {
  const writers = controllers.filter(
    (each): each is Controller => !isRaw(each) && each.options.status !== "manual",
  );
  for (const [index, one] of writers.entries()) {
    const other = writers
      .slice(index + 1)
      .find((each) => groupKind(each.kind) === groupKind(one.kind) && mayMeet(one, each));
    if (!other) continue;
    throw new RuntimeError(
      "InvalidDeclaration",
      `controllers "${one.name}" and "${other.name}" would both write the status of ${groupKind(one.kind)}; give ` +
        'one of them status: "manual", or each its own objects by labels',
    );
  }
}

/** Whether two controllers of one kind can have the same object. */
function mayMeet(one: Controller, other: Controller): boolean {
  const [labels, others] = [one.options.labels, other.options.labels];
  return labels === undefined || others === undefined || labels === others;
}

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

async function run(options: OperatorOptions): Promise<number> {
  const log = options.log ?? (await defaultLogger(nameOf(options), options.logLevel));
  const deadlineMs = (options.shutdownMs ?? 20_000) + closingMs;
  const signalled = Promise.withResolvers<"signal">();
  const stop = new AbortController();
  let signals = 0;
  let code = 0;
  const onSignal = (signal: NodeJS.Signals) => {
    signals++;
    // Asked twice, a person means now.
    if (signals > 1) process.exit(1);
    log.info("stopping", { signal });
    endAfter(deadlineMs, () => code, log);
    signalled.resolve("signal");
    stop.abort();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  // Nothing else may be under way while we wait; the process lives on all the same.
  const alive = setInterval(() => {}, 2 ** 30);
  try {
    const { running, synced } = await launch({ ...options, log }, stop.signal);
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
    if (!stop.signal.aborted) {
      log.error("the operator could not start", { error });
      code = 1;
    }
  } finally {
    clearInterval(alive);
    process.off("SIGTERM", onSignal);
    process.off("SIGINT", onSignal);
  }
  process.exitCode = code;
  endAfter(afterRunMs, () => code, log);
  return code;
}

/** What stopping takes beside the reconciles: the last events, the lease, the connections. */
const closingMs = 5_000;
/** For what an author does after `run()`. */
const afterRunMs = 2_000;

/** Something that is still open (a timer, a socket, a server of the author's) must not keep a stopped operator alive. */
function endAfter(ms: number, code: () => number, log: Logger): void {
  setTimeout(() => {
    log.warn("something keeps the process alive after the operator has stopped: it is ended", {
      open: [...new Set(process.getActiveResourcesInfo())],
    });
    process.exit(code());
  }, ms).unref();
}
