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
import { withDeadline } from "./deadline.ts";
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
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly check: () => void;
  readonly connect: Connector;
  readonly mayWrite: () => boolean;
  readonly controllers: ControllersService;
  readonly orphaned: boolean;
  readonly recheck: (afterMs: number) => void;
  readonly decorations: Decoration[];
  readonly event: (type: "Normal" | "Warning", reason: string, message: string) => void;
}

export function reconcileContext(options: ReconcileContextOptions): Context {
  const { controller, object, granted, draft, clock, random, signal, check, recheck } = options;
  const steps =
    draft && new Steps({ draft, uid: object.metadata.uid, random, now: () => clock.now(), signal, check });
  const ruled = <T>(value: T | undefined, what: string): T => {
    check();
    if (value !== undefined) return value;
    throw new RuntimeError(
      "NotDeclared",
      `controller "${controller.name}" writes its status itself (status: "${controller.options.status}"), so ` +
        `${what} has no place to write to`,
    );
  };
  const context: Context = {
    own: handles(options) as Context["own"],
    read: options.reads as Context["read"],
    client: {
      kind: ((kind: AnyKind) => grantedKind(granted, kind)) as Context["client"]["kind"],
      subresource: ((kind: AnyKind, name: string) =>
        grantedSubresource(granted, kind, name)) as Context["client"]["subresource"],
    },
    setStatus: (status) => ruled(draft, "setStatus").setAuthor((status ?? {}) as JsonObject),
    setCondition: (condition) => ruled(draft, "setCondition").setCondition(condition),
    decorate: (decoration) => {
      check();
      if (!controller.options.decorates) {
        throw new RuntimeError(
          "NotDeclared",
          `controller "${controller.name}" does not declare decorates: true, so it may not change its objects`,
        );
      }
      options.decorations.push(decoration);
    },
    event: (type, reason, message) => {
      check();
      options.event(type, reason, message);
    },
    // biome-ignore lint/suspicious/noConfusingVoidType: most steps return nothing.
    step: async <T extends JsonValue | void>(id: string, run: Parameters<Context["step"]>[1]): Promise<T> => {
      const place = controller.options.status === "auto" ? steps : undefined;
      return (await ruled(place, "step").run(id, run)) as T;
    },
    cron: (expression, cron) => {
      const nowMs = clock.now();
      const result = evaluateCron(expression, { ...cron, nowMs });
      if (result.next) recheck(result.next.getTime() - nowMs);
      return result;
    },
    recheck,
    connect: async (target, port) => {
      check();
      return await connectInTime(options, target, port);
    },
    assertLeading: () => {
      check();
      if (options.mayWrite()) return;
      throw new RuntimeError("LeaseLost", "nothing was sent to the application: this process does not lead");
    },
    controllers: options.controllers.within({ signal: () => signal, check }),
    server: serverFacts(granted.client.client, () => signal),
    orphaned: options.orphaned,
    causes: options.causes,
    log: options.log,
    clock,
    random,
    signal,
  };
  return context;
}

/** A pod that swallows packets, or a port-forward through a node that hangs, must not hold up a reconcile. */
const connectTimeoutMs = 10_000;

async function connectInTime(
  { connect, clock, object, signal }: ReconcileContextOptions,
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
  const verbs = childVerbs(options, declared);
  return {
    get: () => verbs.get(id),
    live: () => verbs.live(id),
    apply: (desired, request) => verbs.apply(id, desired, request),
    delete: (request) => verbs.delete(id, request),
  };
}

function manyHandle(options: ReconcileContextOptions, slot: string, declared: Owned): ManyHandle<AnyKind> {
  const verbs = childVerbs(options, declared);
  return {
    get: (key) => verbs.get({ slot, key }),
    list: () => options.children.inSlot(slot) as never,
    entries: () => options.children.entries(slot) as never,
    live: (key) => verbs.live({ slot, key }),
    apply: (key, desired, request) => verbs.apply({ slot, key }, desired, request),
    delete: (key, request) => verbs.delete({ slot, key }, request),
  };
}

function childVerbs({ object, children, applier, controller }: ReconcileContextOptions, declared: Owned) {
  return {
    get: (id: ChildId) => children.get(id) as never,
    live: async (id: ChildId) => {
      const seen = children.get(id);
      const key = seen ? objectKey(seen) : childKey(declared.kind, object, id, {});
      return (await applier.find(id, parseKey(key))) as never;
    },
    apply: async (id: ChildId, desired: object, request?: { force?: boolean }) => {
      if (declared.retired) {
        throw new RuntimeError(
          "NotDeclared",
          `slot "${id.slot}" of controller "${controller.name}" is retired: its children are deleted, none is made`,
        );
      }
      return (await applier.apply(id, desired, request)) as never;
    },
    delete: async (id: ChildId, request?: object) => {
      const child = children.get(id);
      // Asked twice, it goes once; with options it may be told to go faster.
      if (!child || (child.metadata.deletionTimestamp !== undefined && !request)) return;
      await applier.delete(declared, child, request);
    },
  };
}
