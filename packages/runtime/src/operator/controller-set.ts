/** The controllers of a running operator: those it was made with, and those that reconciles start and stop. */
import type { Client } from "@keelson/client";
import { groupKind } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { Informer } from "../cache/informer.ts";
import type { InformerSet } from "../cache/informer-set.ts";
import type { RunningControllers, Startable } from "../controller/context.ts";
import type { AnyController } from "../controller/permissions.ts";
import { RuntimeError } from "../errors.ts";
import type { Loop } from "../reconcile/loop.ts";
import type { ControllersService } from "../reconcile/services.ts";
import { refuseMissingKinds } from "./reach.ts";

export interface ControllerSetParts {
  readonly client: Client;
  readonly informers: InformerSet;
  /** A loop for each place that the operator looks at. */
  readonly loopsFor: (controller: AnyController) => Loop[];
}

/** Caches that are not complete by then are not waited for: a kind that may not be read never fills its cache. */
const fillMs = 30_000;

export class ControllerSet implements ControllersService {
  /** Of all controllers. Changes in place: everyone who holds it sees those that came later. */
  readonly loops: Loop[] = [];
  /** Changes in place as well. */
  readonly controllers: AnyController[] = [];
  readonly #started = new Map<string, { readonly controller: AnyController; readonly loops: Loop[] }>();
  /** What is under way for a name: starts and stops of one name wait for each other. */
  readonly #turns = new Map<string, Promise<void>>();
  #parts: ControllerSetParts | undefined;
  #closed = false;

  /** Makes the loops of the controllers that stay. */
  open(parts: ControllerSetParts, controllers: readonly AnyController[]): void {
    this.#parts = parts;
    this.controllers.push(...controllers);
    for (const controller of controllers) this.loops.push(...parts.loopsFor(controller));
  }

  /** The operator ends: nothing is started any more. */
  close(): void {
    this.#closed = true;
  }

  within({ signal, check }: Parameters<ControllersService["within"]>[0]): RunningControllers {
    return {
      get: (name) => this.#started.get(name)?.controller,
      start: async (controller) => {
        check();
        await this.#inTurn(controller.name, async () => await this.#start(controller, signal()));
      },
      stop: async (name) => {
        check();
        await this.#inTurn(name, async () => await this.#stop(name));
      },
    };
  }

  async #inTurn(name: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(name) ?? Promise.resolve();
    const turn = before.then(work, work);
    this.#turns.set(name, turn);
    try {
      await turn;
    } finally {
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
    }
  }

  async #start(startable: Startable, signal: AbortSignal): Promise<void> {
    const controller = startable as AnyController;
    const { client, informers, loopsFor } = this.#parts as ControllerSetParts;
    this.#refuse(controller);
    await refuseMissingKinds(client, [controller]);
    await this.#end(controller.name);
    if (this.#closed) throw new RuntimeError("Stopped", "the operator is stopping");
    const loops = loopsFor(controller);
    this.#started.set(controller.name, { controller, loops });
    this.loops.push(...loops);
    this.controllers.push(controller);
    await this.#dropUnused();
    for (const loop of loops) loop.listen();
    informers.start();
    try {
      await this.#filled(controller.name, loops, signal);
    } catch (error) {
      await this.#stop(controller.name);
      throw error;
    }
    await Promise.all(loops.map((loop) => loop.run()));
    // A cache that was complete before tells nothing of what it holds.
    for (const loop of loops) loop.resync();
  }

  async #stop(name: string): Promise<void> {
    await this.#end(name);
    await this.#dropUnused();
  }

  /** The caches stay: a successor may need the same. */
  async #end(name: string): Promise<void> {
    const found = this.#started.get(name);
    if (!found) return;
    await Promise.all(found.loops.map((loop) => loop.drain()));
    for (const loop of found.loops) {
      loop.release();
      this.loops.splice(this.loops.indexOf(loop), 1);
    }
    this.controllers.splice(this.controllers.indexOf(found.controller), 1);
    this.#started.delete(name);
  }

  async #dropUnused(): Promise<void> {
    const used = new Set<Informer>(
      this.loops.flatMap((loop) => loop.watches.map(({ informer }) => informer)),
    );
    await this.#parts?.informers.keep(used);
  }

  async #filled(name: string, loops: readonly Loop[], signal: AbortSignal): Promise<void> {
    const { client } = this.#parts as ControllerSetParts;
    const filling = [...new Set(loops.flatMap((loop) => loop.watches.map(({ informer }) => informer)))];
    const late = Promise.withResolvers<never>();
    const giveUp = (why: string) => {
      const missing = filling.filter(({ synced }) => !synced);
      const told = missing.map(({ kind, health }) => {
        const met = health.lastError ? ` (${errorText(health.lastError)})` : "";
        return `${groupKind(kind)}${met}`;
      });
      late.reject(
        new RuntimeError(
          "NotStarted",
          `controller "${name}" has no complete cache of ${told.join(", ")} ${why}`,
        ),
      );
    };
    const cancel = client.clock.timer(fillMs, () => giveUp(`after ${fillMs / 1000} s`));
    const onAbort = () => giveUp("and its operator stops");
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await Promise.race([Promise.all(filling.map((informer) => informer.whenSynced())), late.promise]);
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
      late.promise.catch(() => {});
    }
  }

  #refuse(controller: AnyController): void {
    const taken = this.controllers.find(({ name }) => name === controller.name);
    if (!taken || this.#started.has(controller.name)) return;
    throw new RuntimeError(
      "InvalidDeclaration",
      `a controller named "${controller.name}" is part of the operator and cannot be replaced; give the one that is ` +
        "started another name",
    );
  }
}
