/** A controller as a value: a primary kind, what it touches, and a function. */
import { type AnyKind, groupKind, type ObjectOf, type ObjectRef, validateLabelValue } from "@keelson/core";
import { RuntimeError } from "../errors.ts";
import type { Context, Desired, ObservedOwned, ObservedReads, SlotKind, StatusOf } from "./context.ts";
import { type Owned, type Owns, own, type Reads, type Writes } from "./declaration.ts";
import { fieldManagerOf, finalizerOf } from "./labels.ts";
import type { Mistake } from "./mistake.ts";
import type { Failed, Outcome, Waiting } from "./outcome.ts";

/** Leaves a child as it is: neither applied nor pruned. */
export const keep: unique symbol = Symbol("keep");
/** Stands for a child that stays as it is, whatever it is. Made by {@link keep}. */
export type Keep = typeof keep;

/** Desired children by slot. A slot or key that is left out is pruned (see `OwnOptions.absent`). */
export type Children<O extends Owns> = {
  readonly [S in keyof O]?: O[S] extends Owned<infer K, true>
    ? Readonly<Record<string, Desired<K> | Keep>> | Keep
    : Desired<SlotKind<O[S]>> | Keep | undefined;
};

/**
 * All that should be. It is a full statement: what is left out of `children` is pruned, whatever the outcome.
 * A bare `waiting()` or `fail()` in its place, or an error, makes no statement: nothing is applied or pruned.
 */
export interface Composition<P extends AnyKind, O extends Owns> {
  readonly children: Children<O>;
  readonly status?: StatusOf<P>;
  /** Default: ready when every child is. */
  readonly outcome?: Outcome;
}

/** A pure function from an object and its observed children to what should be there. */
export type Compose<P extends AnyKind, O extends Owns, R extends Reads<never>, C = Composed<P, O>> = (
  object: ObjectOf<P>,
  observed: ObservedOwned<O> & ObservedReads<R>,
  world: { readonly now: Date },
) => C;

/** A function that brings the world closer to the object, and says how it ended. */
export type Reconcile<P extends AnyKind, O extends Owns, R extends Reads<never>, W extends Writes> = (
  object: ObjectOf<P>,
  ctx: Context<P, O, R, W>,
) => Promise<Outcome>;

/** Waiting times between the tries of an object that fails. Each is twice the one before, and a little random. */
export interface Backoff {
  /** Default: 5 ms. Raise it where a try costs something elsewhere. */
  readonly firstMs?: number;
  /** Default: 1000 s. */
  readonly longestMs?: number;
}

/** How a controller works: its concurrency, its resync, its deadlines. */
export interface ControllerOptions {
  /** Names the controller in metrics, logs, labels and its field manager. Default: the kind in lower case. */
  readonly name?: string;
  /** How many objects are reconciled at once. Default: 4. One object is never reconciled twice at once. */
  readonly concurrency?: number;
  /** A reconcile that takes longer is aborted and counts as an error. Default: 5 minutes. */
  readonly timeoutMs?: number;
  /** How long a reconcile that threw waits before it is tried again. */
  readonly backoff?: Backoff;
  /** Allows `ctx.decorate`, and asks for the permission to patch the objects. Default: false. */
  readonly decorates?: boolean;
  /** Only objects with these labels. */
  readonly labels?: string;
  /** Signs its writes. Default: `keelson-<name>`. Give it where the fields of an earlier writer are taken over. */
  readonly fieldManager?: string;
  /** Held while `finalize` has work left. Default: `keelson.dev/<name>`. */
  readonly finalizer?: string;
  /** Reconciles everything this often, though nothing changed. Default: 10 hours. */
  readonly resyncMs?: number;
  /**
   * Who writes the status. `auto`: the runtime, all of it. `conditions`: the runtime, without inventory and steps,
   * for resources whose schema has no place for them. `manual`: nobody but the reconcile itself.
   * Default: `auto` for a `resource()`, `manual` for any other kind.
   */
  readonly status?: "auto" | "conditions" | "manual";
}

interface DefinitionBase<P extends AnyKind, O extends Owns, R extends Reads<ObjectOf<P>>, W extends Writes>
  extends ControllerOptions {
  readonly owns?: O;
  readonly reads?: R;
  readonly writes?: W;
  /**
   * Events from outside, by name: each is served as `POST /wake/<controller>/<name>` beside the operator's health. The
   * function says which objects to look at; an event is a hint, and what is true is read in the reconcile.
   */
  readonly wakes?: Wakes;
  /**
   * Runs when the object is deleted, before it is gone. The finalizer is set before anything else is written
   * and leaves only after `done()`: waiting, failing and throwing all keep it.
   */
  readonly finalize?: Reconcile<P, O, R, W>;
}

/** What a composition may return. */
type Composed<P extends AnyKind, O extends Owns> = Composition<P, O> | Waiting | Failed;

/** What is wrong with what `compose` returns, as a sentence that names the field. */
type ComposeMistake<P extends AnyKind, O extends Owns, C> = C extends Waiting | Failed
  ? never
  : C extends { readonly outcome: infer Given extends Outcome }
    ? Mistake<Omit<C, "outcome"> & { readonly outcome?: Given }, ComposedAs<P, O, Given>>
    : Mistake<C, Composition<P, O>>;

/** The composition with exactly the outcome that was given: which of the outcomes it is, is no mistake. */
type ComposedAs<P extends AnyKind, O extends Owns, Given> = Omit<Composition<P, O>, "outcome"> & {
  readonly outcome?: Given;
};

/**
 * The function itself, or the sentence that says what is wrong with it. The detour over a condition also makes the
 * compiler fill in `O` before it looks at what the function returns, so that `restartPolicy: "Never"` in a child stays
 * a word and does not become any string.
 */
type Checked<F, M> = [M] extends [never] ? F : `${M & string}`;

/** A controller: what it owns, reads and writes, and how it reconciles. */
export type ControllerDefinition<
  P extends AnyKind,
  O extends Owns,
  R extends Reads<ObjectOf<P>>,
  W extends Writes,
  C = Composed<P, O>,
> = DefinitionBase<P, O, R, W> &
  (
    | {
        readonly compose: Checked<Compose<P, O, R, C | Composed<P, O>>, ComposeMistake<P, O, C>>;
        readonly reconcile?: never;
      }
    | { readonly reconcile: Reconcile<P, O, R, W>; readonly compose?: never }
  );

/** A request from outside that may concern objects. Check who sent it: nobody else does. */
export interface WakeRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As it was sent. At most 1 MiB. */
  readonly body: string;
}

/** Which objects an event from outside concerns; undefined refuses it. */
export type Wake = (
  request: WakeRequest,
) => readonly ObjectRef[] | undefined | Promise<readonly ObjectRef[] | undefined>;

/** Events from outside, by name. */
export type Wakes = Readonly<Record<string, Wake>>;

/** A controller, ready to be given to an operator or a test. */
export interface Controller {
  readonly name: string;
  readonly kind: AnyKind;
  readonly owns: Readonly<Record<string, Owned>>;
  readonly reads: Reads<never>;
  readonly writes: Writes;
  readonly wakes: Wakes;
  readonly options: Required<Omit<ControllerOptions, "labels" | "name">> & { readonly labels?: string };
  readonly compose?: Compose<AnyKind, Owns, Reads<never>>;
  readonly reconcile?: Reconcile<AnyKind, Owns, Reads<never>, Writes>;
  readonly finalize?: Reconcile<AnyKind, Owns, Reads<never>, Writes>;
}

/** Makes a controller. It does nothing until an operator runs it. */
export function controller<
  P extends AnyKind,
  // biome-ignore lint/complexity/noBannedTypes: an empty declaration has no slots at all.
  O extends Owns = {},
  // biome-ignore lint/complexity/noBannedTypes: an empty declaration has no reads at all.
  R extends Reads<ObjectOf<P>> = {},
  const W extends Writes = [],
  const C = never,
>(kind: P, definition: ControllerDefinition<P, O, R, W, C>): Controller {
  const owns: Record<string, Owned> = {};
  for (const [slot, declared] of Object.entries(definition.owns ?? {})) {
    const owned = isOwned(declared) ? declared : own(declared);
    if (groupKind(owned.kind) === groupKind(kind)) {
      throw new RuntimeError(
        "OwnsItself",
        `controller of ${groupKind(kind)} cannot own its own kind (slot "${slot}"): every child would be ` +
          "reconciled as a parent; own another kind, or read the others with reads: { peers: all(…) }",
      );
    }
    if (kind.scope === "Namespaced" && owned.kind.scope === "Cluster" && !owned.options.outlives) {
      throw new RuntimeError(
        "InvalidDeclaration",
        `controller of ${groupKind(kind)} cannot own the cluster-scoped ${groupKind(owned.kind)} (slot "${slot}"): ` +
          "an owner in a namespace cannot be referenced from outside it, Kubernetes would collect the child as " +
          "garbage; declare the slot with outlives: true and delete the child in finalize",
      );
    }
    owns[slot] = owned;
  }
  checkNames(definition.name ?? kind.kind.toLowerCase(), owns);
  slotOrder(owns);
  const options = {
    concurrency: definition.concurrency ?? 4,
    timeoutMs: definition.timeoutMs ?? 300_000,
    resyncMs: definition.resyncMs ?? 36_000_000,
    status: definition.status ?? ("crd" in kind ? "auto" : "manual"),
    backoff: definition.backoff ?? {},
    decorates: definition.decorates ?? false,
    fieldManager: definition.fieldManager ?? fieldManagerOf(definition.name ?? kind.kind.toLowerCase()),
    finalizer: definition.finalizer ?? finalizerOf(definition.name ?? kind.kind.toLowerCase()),
    ...(definition.labels === undefined ? {} : { labels: definition.labels }),
  };
  return Object.freeze({
    name: definition.name ?? kind.kind.toLowerCase(),
    kind,
    owns,
    reads: (definition.reads ?? {}) as Reads<never>,
    writes: definition.writes ?? [],
    wakes: definition.wakes ?? {},
    options,
    ...(definition.compose
      ? { compose: definition.compose as unknown as Compose<AnyKind, Owns, Reads<never>> }
      : {}),
    ...(definition.reconcile ? { reconcile: definition.reconcile as unknown as AnyReconcile } : {}),
    ...(definition.finalize ? { finalize: definition.finalize as unknown as AnyReconcile } : {}),
  });
}

function checkNames(name: string, owns: Readonly<Record<string, Owned>>): void {
  for (const [what, value] of [["name", name], ...Object.keys(owns).map((slot) => ["slot", slot])] as const) {
    const problems = validateLabelValue(value as string);
    if (problems.length === 0 && value !== "") continue;
    throw new RuntimeError(
      "InvalidDeclaration",
      `the controller's ${what} ${JSON.stringify(value)} must be a label value, because children carry it: ` +
        (problems.join("; ") || "it must not be empty"),
    );
  }
}

/** Slots so that each comes behind those it waits for; otherwise in the order of declaration. */
export function slotOrder(owns: Readonly<Record<string, Owned>>): string[] {
  const order: string[] = [];
  const visit = (slot: string, path: readonly string[]) => {
    if (order.includes(slot)) return;
    if (path.includes(slot)) {
      throw new RuntimeError(
        "InvalidDeclaration",
        `slots wait for each other in a circle: ${[...path.slice(path.indexOf(slot)), slot].join(" → ")}`,
      );
    }
    for (const before of predecessors(owns[slot] as Owned)) {
      if (!owns[before]) {
        throw new RuntimeError(
          "InvalidDeclaration",
          `slot "${slot}" comes after "${before}", which is not a slot; there are: ${Object.keys(owns).join(", ")}`,
        );
      }
      visit(before, [...path, slot]);
    }
    order.push(slot);
  };
  for (const slot of Object.keys(owns)) visit(slot, []);
  return order;
}

/** The slots that a slot waits for. */
export function predecessors(slot: Owned): readonly string[] {
  const { after } = slot.options;
  return after === undefined ? [] : typeof after === "string" ? [after] : after;
}

type AnyReconcile = Reconcile<AnyKind, Owns, Reads<never>, Writes>;

function isOwned(declared: AnyKind | Owned): declared is Owned {
  return "role" in declared && declared.role === "owned";
}
