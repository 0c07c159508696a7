/** Builds what a reconcile is handed. */
import {
  type AnyKind,
  type Clock,
  type JsonObject,
  type JsonValue,
  objectKey,
  parseKey,
  type Random,
  type Stored,
} from "@keelson/core";
import type { Applier } from "../children/applier.ts";
import { type ChildId, childKey } from "../children/child-body.ts";
import type { OwnedChildren } from "../children/owned-children.ts";
import type {
  Cause,
  Connection,
  ConnectTarget,
  Context,
  Decoration,
  ManyHandle,
  OneHandle,
} from "../controller/context.ts";
import type { Controller } from "../controller/controller.ts";
import type { Owned } from "../controller/declaration.ts";
import { RuntimeError } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import type { StatusDraft } from "../status/status-draft.ts";
import { Steps } from "../status/steps.ts";
import type { Connector } from "./connector.ts";
import { evaluateCron } from "./cron.ts";
import { type Scope, withDeadline } from "./deadline.ts";
import { type GrantedOptions, grantedKind, grantedSubresource } from "./granted-client.ts";
import { serverFacts } from "./server-facts.ts";
import type { ControllersService } from "./services.ts";

export interface ReconcileContextOptions {
  readonly controller: Controller;
  readonly object: Stored;
  readonly children: OwnedChildren;
  readonly applier: Applier;
  readonly granted: GrantedOptions;
  readonly reads: Readonly<Record<string, unknown>>;
  /** Absent when the controller writes its status itself. */
  readonly draft: StatusDraft | undefined;
  readonly causes: readonly Cause[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: () => Logger;
  readonly scope: Scope;
  readonly check: () => void;
  readonly connect: Connector;
  readonly mayWrite: () => boolean;
  readonly controllers: ControllersService;
  readonly orphaned: boolean | undefined;
  readonly recheck: (afterMs: number) => void;
  readonly decorations: Decoration[];
  readonly event: (type: "Normal" | "Warning", reason: string, message: string) => void;
}

/** One is made for every look at an object, and most looks use little of it: the rest is made for who asks. */
export class ReconcileContext implements Context {
  readonly own: Context["own"];
  readonly read: Context["read"];
  readonly orphaned: boolean | undefined;
  readonly causes: readonly Cause[];
  readonly clock: Clock;
  readonly random: Random;
  readonly recheck: Context["recheck"];
  readonly #options: ReconcileContextOptions;
  #steps: Steps | undefined;
  #log: Logger | undefined;

  constructor(options: ReconcileContextOptions) {
    this.#options = options;
    this.own = handles(options) as Context["own"];
    this.read = options.reads as Context["read"];
    this.orphaned = options.orphaned;
    this.causes = options.causes;
    this.clock = options.clock;
    this.random = options.random;
    this.recheck = options.recheck;
  }

  get client(): Context["client"] {
    const { granted } = this.#options;
    return {
      kind: ((kind: AnyKind) => grantedKind(granted, kind)) as Context["client"]["kind"],
      subresource: ((kind: AnyKind, name: string) =>
        grantedSubresource(granted, kind, name)) as Context["client"]["subresource"],
    };
  }

  get setStatus(): Context["setStatus"] {
    const { draft } = this.#options;
    return (status) => this.#ruled(draft, "setStatus").setAuthor((status ?? {}) as JsonObject);
  }

  get setCondition(): Context["setCondition"] {
    const { draft } = this.#options;
    return (condition) => this.#ruled(draft, "setCondition").setCondition(condition);
  }

  get decorate(): Context["decorate"] {
    const { check, controller, decorations } = this.#options;
    return (decoration) => {
      check();
      if (!controller.options.decorates) {
        throw new RuntimeError(
          "NotDeclared",
          `controller "${controller.name}" does not declare decorates: true, so it may not change its objects`,
        );
      }
      decorations.push(decoration);
    };
  }

  get event(): Context["event"] {
    const { check, event } = this.#options;
    return (type, reason, message) => {
      check();
      event(type, reason, message);
    };
  }

  get step(): Context["step"] {
    // biome-ignore lint/suspicious/noConfusingVoidType: most steps return nothing.
    return async <T extends JsonValue | void>(id: string, run: Parameters<Context["step"]>[1]): Promise<T> =>
      (await this.#ruled(this.#place(), "step").run(id, run)) as T;
  }

  get cron(): Context["cron"] {
    return (expression, cron) => {
      const nowMs = this.clock.now();
      const result = evaluateCron(expression, { ...cron, nowMs });
      if (result.next) this.recheck(result.next.getTime() - nowMs);
      return result;
    };
  }

  get connect(): Context["connect"] {
    return async (target, port) => {
      this.#options.check();
      return await connectInTime(this.#options, target, port);
    };
  }

  get assertLeading(): Context["assertLeading"] {
    const { check, mayWrite } = this.#options;
    return () => {
      check();
      if (mayWrite()) return;
      throw new RuntimeError("LeaseLost", "nothing was sent to the application: this process does not lead");
    };
  }

  get controllers(): Context["controllers"] {
    const { controllers, check, scope } = this.#options;
    return controllers.within({ signal: () => scope.signal, check });
  }

  get server(): Context["server"] {
    const { granted, scope } = this.#options;
    return serverFacts(granted.client.client, () => scope.signal);
  }

  get log(): Logger {
    this.#log ??= this.#options.log();
    return this.#log;
  }

  get signal(): AbortSignal {
    return this.#options.scope.signal;
  }

  /** Where steps are kept; undefined where the controller writes its status itself. */
  #place(): Steps | undefined {
    const { controller, draft, object, random, clock, scope, check } = this.#options;
    if (!draft || controller.options.status !== "auto") return undefined;
    const { uid } = object.metadata;
    this.#steps ??= new Steps({ draft, uid, random, now: () => clock.now(), signal: scope.signal, check });
    return this.#steps;
  }

  #ruled<T>(value: T | undefined, what: string): T {
    const { check, controller } = this.#options;
    check();
    if (value !== undefined) return value;
    throw new RuntimeError(
      "NotDeclared",
      `controller "${controller.name}" writes its status itself (status: "${controller.options.status}"), so ` +
        `${what} has no place to write to`,
    );
  }
}

/** A pod that swallows packets, or a port-forward through a node that hangs, must not hold up a reconcile. */
const connectTimeoutMs = 10_000;

async function connectInTime(
  { connect, clock, object, scope: { signal } }: ReconcileContextOptions,
  target: ConnectTarget,
  port: number,
): Promise<Connection> {
  const { namespace } = object.metadata;
  const [what, { name }] =
    "pod" in target ? (["Pod", target.pod] as const) : (["Service", target.service] as const);
  const expired = () =>
    new RuntimeError(
      "Unreachable",
      `cannot connect to port ${port} of ${what} ${name}: no answer within ${connectTimeoutMs / 1_000} s`,
    );
  return await withDeadline({ clock, timeoutMs: connectTimeoutMs, signal, expired }, async (scope) => {
    const connection = await connect(target, port, { namespace, signal: scope.signal });
    // Nobody waits for it any more.
    if (scope.aborted) await connection[Symbol.asyncDispose]();
    return connection;
  });
}

function handles(options: ReconcileContextOptions): Record<string, OneHandle<AnyKind> | ManyHandle<AnyKind>> {
  const out: Record<string, OneHandle<AnyKind> | ManyHandle<AnyKind>> = {};
  for (const [slot, declared] of Object.entries(options.controller.owns)) {
    out[slot] = declared.many ? manyHandle(options, slot, declared) : oneHandle(options, slot, declared);
  }
  return out;
}

function oneHandle(options: ReconcileContextOptions, slot: string, declared: Owned): OneHandle<AnyKind> {
  const id = { slot, key: "" };
  const verbs = new ChildVerbs(options, declared);
  return {
    get: () => verbs.get(id),
    live: () => verbs.live(id),
    apply: (desired, request) => verbs.apply(id, desired, request),
    delete: (request) => verbs.delete(id, request),
  };
}

function manyHandle(options: ReconcileContextOptions, slot: string, declared: Owned): ManyHandle<AnyKind> {
  const verbs = new ChildVerbs(options, declared);
  return {
    get: (key) => verbs.get({ slot, key }),
    list: () => options.children.inSlot(slot) as never,
    entries: () => options.children.entries(slot) as never,
    live: (key) => verbs.live({ slot, key }),
    apply: (key, desired, request) => verbs.apply({ slot, key }, desired, request),
    delete: (key, request) => verbs.delete({ slot, key }, request),
  };
}

class ChildVerbs {
  readonly #options: ReconcileContextOptions;
  readonly #declared: Owned;

  constructor(options: ReconcileContextOptions, declared: Owned) {
    this.#options = options;
    this.#declared = declared;
  }

  get(id: ChildId): never {
    return this.#options.children.get(id) as never;
  }

  async live(id: ChildId): Promise<never> {
    const { children, object, applier } = this.#options;
    const seen = children.get(id);
    const key = seen ? objectKey(seen) : childKey(this.#declared, object, id, {});
    return (await applier.find(id, parseKey(key))) as never;
  }

  apply(id: ChildId, desired: object, request?: { force?: boolean }): Promise<never> {
    const { applier, controller } = this.#options;
    if (!this.#declared.retired) return applier.apply(id, desired, request) as Promise<never>;
    const retired = new RuntimeError(
      "NotDeclared",
      `slot "${id.slot}" of controller "${controller.name}" is retired: its children are deleted, none is made`,
    );
    return Promise.reject(retired);
  }

  async delete(id: ChildId, request?: object): Promise<void> {
    const { children, applier } = this.#options;
    const child = children.get(id) ?? applier.unadopted(id);
    // Asked twice, it goes once; with options it may be told to go faster.
    if (!child || (child.metadata.deletionTimestamp !== undefined && !request)) return;
    await applier.delete(this.#declared, child, request);
  }
}
