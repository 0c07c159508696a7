/** The file beside an ejected controller that every graph has in common. */

/** Pending is a class of its own, or that of the expressions that stay CEL. `omits`: some fields may be left out. */
export function graphSupport(options: { readonly cel: boolean; readonly omits: boolean }): string {
  const pending = options.cel ? 'import { Pending } from "@keelson/graphs/expressions";\n' : "";
  const own = options.cel
    ? "export { Pending };\n"
    : `/** Something that is read is not there yet: the resource that needs it waits. */
export class Pending extends Error {}
`;
  return `/** How the resources of an instance wait for each other, as in the graph: made in order, gone in the reverse order. */
import { createHash } from "node:crypto";
${pending}import {
  type AnyKind,
  type Desired,
  done,
  type KubeObject,
  type ManyHandle,
  many,
  type ObjectOf,
  type Outcome,
  type Owned,
  waiting,
} from "keelson";

${own}
/** A value that must be there. @throws Pending */
export function need<T>(value: T | null | undefined, what: string): T {
  if (value === undefined || value === null) throw new Pending(\`\${what} is not there yet\`);
  return value;
}

/** CEL calculates with 64 bits: what would be rounded here is an error instead. */
export function int(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(\`\${value} is no whole number that can be kept exactly\`);
  return value;
}

/** Undefined where a value is not there yet. */
export function orNothing<T>(value: () => T): T | undefined {
  try {
    return value();
  } catch (error) {
    if (error instanceof Pending) return undefined;
    throw error;
  }
}

/** Whether an object has this place. */
export function isAt(place: { readonly name: string; readonly namespace?: string }) {
  return ({ metadata }: KubeObject) => metadata?.name === place.name && metadata.namespace === place.namespace;
}

/** Whether an object is in the namespace and has the labels. */
export function isAmong(wanted: { readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> }) {
  return ({ metadata }: KubeObject) =>
    (!wanted.namespace || metadata?.namespace === wanted.namespace) &&
    Object.entries(wanted.labels ?? {}).every(([label, value]) => metadata?.labels?.[label] === value);
}

interface Instance {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

const waveAnnotation = "internal.kro.run/apply-order";
const partOf = "applyset.kubernetes.io/part-of";

/** Children without owner reference: they go in order. What kro or the graph made for the instance is taken over. */
export function graphChildren<K extends AnyKind>(kind: K, of: AnyKind): Owned<K, true> {
  return many(kind, {
    outlives: true,
    adopts: (existing, owner) => {
      const set = (existing as KubeObject).metadata?.labels?.[partOf];
      return set === undefined || set === applySet(of, owner);
    },
  });
}

function applySet({ kind, group }: AnyKind, { metadata }: Instance): string {
  const parts = [metadata.name, metadata.namespace ?? "", kind, group].join(".");
  return \`applyset-\${createHash("sha256").update(parts).digest("base64url")}-v1\`;
}

/** The text where a label can hold it, otherwise its beginning and a digest. */
function labelValue(text: string): string {
  if (/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/.test(text)) return text;
  const start = text
    .slice(0, 46)
    .replace(/[^A-Za-z0-9._-]/g, "-")
    .replace(/[^A-Za-z0-9]+$/, "");
  return \`\${start}-\${createHash("sha256").update(text).digest("hex").slice(0, 16)}\`;
}

type State = "synced" | "skipped" | "pending" | "waiting" | "deleting" | "error";

/** How a resource stands, and what the cluster holds of it. */
export class Made<T> {
  readonly id: string;
  readonly state: State;
  readonly message: string;
  readonly #objects: readonly T[] | undefined;

  constructor(id: string, state: State, message: string, objects?: readonly T[]) {
    this.id = id;
    this.state = state;
    this.message = message;
    this.#objects = objects;
  }

  /** @throws Pending */
  get object(): T {
    return need(this.#objects?.[0], this.id);
  }

  /** @throws Pending */
  get objects(): readonly T[] {
    return need(this.#objects, this.id);
  }

  /** Undefined when nothing is known of it. */
  get seen(): T | undefined {
    return this.#objects?.[0];
  }

  get allSeen(): readonly T[] | undefined {
    return this.#objects;
  }
}

interface Rules<T> {
  /** Resources that must be ready before this one. One that is left out takes this one along. */
  readonly after?: readonly Made<unknown>[];
  /** Whether the resource is to be there; asked when \`whenAfter\` are ready. */
  readonly when?: () => boolean;
  readonly whenAfter?: readonly Made<unknown>[];
  /** Each must hold of every object before others may depend on it. */
  readonly ready?: readonly ((object: T) => boolean)[];
}

interface Step<T, D> extends Rules<T> {
  /** It goes before those of lower waves. */
  readonly wave: number;
  readonly scope?: "Cluster";
  readonly desired: () => D;
}

/** One pass over the resources of an instance. */
export class Pass {
  readonly #kind: AnyKind;
  readonly #instance: Instance;
  readonly #made: Made<unknown>[] = [];
  readonly #wanted = new Map<unknown, Set<string>>();
  #error: unknown;

  constructor(kind: AnyKind, instance: Instance) {
    this.#kind = kind;
    this.#instance = instance;
  }

  async one<K extends AnyKind>(
    id: string,
    slot: ManyHandle<K>,
    step: Step<ObjectOf<K>, Desired<K>>,
  ): Promise<Made<ObjectOf<K>>> {
    return await this.#step(id, step, () => this.#apply(id, slot, step, [step.desired()]));
  }

  async each<K extends AnyKind>(
    id: string,
    slot: ManyHandle<K>,
    step: Step<ObjectOf<K>, readonly Desired<K>[]>,
  ): Promise<Made<ObjectOf<K>>> {
    return await this.#step(id, step, () => this.#apply(id, slot, step, step.desired(), true));
  }

  /** What others keep: undefined when it is not there. */
  async read<T extends KubeObject>(
    id: string,
    step: Rules<T> & { readonly find: () => T | readonly T[] | undefined },
  ): Promise<Made<T>> {
    const find = async () => {
      const found = step.find();
      return found === undefined ? undefined : Array.isArray(found) ? (found as readonly T[]) : [found as T];
    };
    return await this.#step(id, step, find, false);
  }

  async #step<T>(
    id: string,
    step: Rules<T>,
    make: () => Promise<readonly T[] | undefined>,
    isOurs = true,
  ): Promise<Made<T>> {
    const made = await this.#look(id, step, make, isOurs);
    this.#made.push(made);
    return made;
  }

  async #look<T>(
    id: string,
    { after = [], when, whenAfter = [], ready = [] }: Rules<T>,
    make: () => Promise<readonly T[] | undefined>,
    isOurs: boolean,
  ): Promise<Made<T>> {
    // What comes behind may need it as it will be: nothing is decided on one that goes.
    const going = this.#made.find(({ state }) => state === "deleting");
    if (going) return new Made(id, "pending", \`\${id} waits for \${going.id}\`);
    let objects: readonly T[] | undefined;
    try {
      if (after.some(({ state }) => state === "skipped")) return new Made(id, "skipped", "");
      waitFor(whenAfter);
      if (when && !this.#asked(when, whenAfter)) return new Made(id, "skipped", "");
      waitFor(after);
      objects = await make();
      if (!objects) return new Made(id, "waiting", \`\${id} is not there yet\`);
      const gone = objects.find((object) => (object as KubeObject).metadata?.deletionTimestamp !== undefined);
      if (gone && isOurs) return new Made(id, "deleting", \`\${id} is being deleted\`);
      const unmet = objects.some((object) => ready.some((holds) => !holds(object)));
      return new Made(id, unmet ? "waiting" : "synced", unmet ? \`\${id} is not ready\` : "", objects);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (error instanceof Pending) return new Made(id, objects ? "waiting" : "pending", message, objects);
      this.#error ??= error;
      return new Made(id, "error", \`\${id}: \${message}\`, objects);
    }
  }

  /** What only the instance says does not come later by itself. */
  #asked(when: () => boolean, whenAfter: readonly Made<unknown>[]): boolean {
    try {
      return when();
    } catch (error) {
      if (error instanceof Pending && whenAfter.length === 0) throw new Error(error.message);
      throw error;
    }
  }

  async #apply<K extends AnyKind>(
    id: string,
    slot: ManyHandle<K>,
    { wave, scope }: { readonly wave: number; readonly scope?: "Cluster" },
    desired: readonly Desired<K>[],
    isCollection = false,
  ): Promise<ObjectOf<K>[]> {
    const keys = desired.map((object) => this.#claim(id, slot, object, scope));
    return await Promise.all(
      desired.map(async (object, index) => {
        const labels = this.#labels(id, isCollection ? { index, size: desired.length } : undefined);
        const { metadata } = object as KubeObject;
        const marked = {
          ...object,
          metadata: {
            ...metadata,
            labels: { ...metadata?.labels, ...labels },
            annotations: { ...metadata?.annotations, [waveAnnotation]: String(wave) },
          },
        };
        return await slot.apply(keys[index] as string, marked as Desired<K>);
      }),
    );
  }

  /** The key of an object: that of its place, whatever its position in a list. */
  #claim(id: string, slot: ManyHandle<AnyKind>, object: KubeObject, scope: "Cluster" | undefined): string {
    const { name, namespace } = object.metadata ?? {};
    if (!name) throw new Error(\`\${id} has no name\`);
    const home = scope === "Cluster" ? "" : (namespace ?? this.#instance.metadata.namespace ?? "");
    const place = \`\${home}/\${name}\`;
    const key = labelValue(\`\${id}.\${createHash("sha256").update(place).digest("hex").slice(0, 12)}\`);
    const wanted = this.#wanted.get(slot) ?? new Set<string>();
    if (wanted.has(key)) throw new Error(\`\${id} would make \${name} twice\`);
    this.#wanted.set(slot, wanted.add(key));
    return key;
  }

  /** As kro labels what it makes. */
  #labels(id: string, item: { readonly index: number; readonly size: number } | undefined): Record<string, string> {
    const { kind, group, version, scope } = this.#kind;
    const { name, namespace, uid } = this.#instance.metadata;
    return {
      "kro.run/owned": "true",
      "kro.run/kro-version": "keelson",
      "app.kubernetes.io/managed-by": "kro",
      "kro.run/instance-id": uid,
      "kro.run/instance-name": labelValue(name),
      "kro.run/instance-group": group,
      "kro.run/instance-version": version,
      "kro.run/instance-kind": kind,
      ...(scope === "Namespaced" ? { "kro.run/instance-namespace": namespace ?? "" } : {}),
      "kro.run/node-id": labelValue(id),
      [partOf]: applySet(this.#kind, this.#instance),
      ...(item && {
        "kro.run/collection-index": String(item.index),
        "kro.run/collection-size": String(item.size),
      }),
    };
  }

  get state(): "ACTIVE" | "IN_PROGRESS" | "ERROR" {
    if (this.#made.some(({ state }) => state === "error")) return "ERROR";
    return this.#made.every(({ state }) => state === "synced" || state === "skipped") ? "ACTIVE" : "IN_PROGRESS";
  }

  /** Deletes what is not wanted any more, dependents first, once everything is known. */
  async prune(slots: readonly ManyHandle<AnyKind>[]): Promise<void> {
    const unsettled: readonly State[] = ["pending", "error", "deleting"];
    if (this.#made.some(({ state }) => unsettled.includes(state))) return;
    const left = childrenIn(slots).filter(({ slot, key }) => !this.#wanted.get(slot)?.has(key));
    for (const { slot, key, going } of left) if (!going) await slot.delete(key);
  }

  outcome(): Outcome {
    if (this.#error !== undefined) throw this.#error;
    const told = (...states: State[]) =>
      this.#made.filter(({ state }) => states.includes(state)).map(({ message }) => message);
    const going = told("deleting");
    if (going.length > 0) return waiting("ResourceDeleting", going.join("; "));
    const waits = told("waiting", "pending");
    return waits.length === 0 ? done() : waiting("NotReady", \`awaiting resource readiness: \${waits.join("; ")}\`);
  }
}

function waitFor(resources: readonly Made<unknown>[]): void {
  for (const { id, state, message } of resources) {
    if (state !== "synced" && state !== "skipped") throw new Pending(\`waits for \${id}: \${message}\`);
  }
}

function childrenIn(slots: readonly ManyHandle<AnyKind>[]) {
  return slots
    .flatMap((slot) =>
      [...slot.entries()].map(([key, object]) => {
        const { annotations, deletionTimestamp } = (object as KubeObject).metadata ?? {};
        return { slot, key, wave: Number(annotations?.[waveAnnotation] ?? 0), going: deletionTimestamp !== undefined };
      }),
    )
    .sort((a, b) => b.wave - a.wave);
}

/** The last made goes first; a wave waits until those before it have gone. */
export async function deleteInOrder(slots: readonly ManyHandle<AnyKind>[]): Promise<Outcome> {
  for (;;) {
    const children = childrenIn(slots);
    const [highest] = children;
    if (!highest) return done();
    for (const { slot, key, wave, going } of children) {
      if (wave === highest.wave && !going) await slot.delete(key);
    }
    const left = childrenIn(slots);
    if (left.some(({ wave }) => wave === highest.wave)) {
      return waiting("Deleting", \`\${left.length} \${left.length === 1 ? "resource is" : "resources are"} left\`);
    }
  }
}

/** Whether the annotation kro.run/reconcile asks to leave the instance as it is. */
export function isSuspended({ metadata }: Instance): boolean {
  return ["suspended", "disabled"].includes(metadata.annotations?.["kro.run/reconcile"]?.toLowerCase() ?? "");
}

/** Fields whose value can be told. */
type Told<T> = T extends () => infer V
  ? V
  : T extends readonly unknown[]
    ? Told<T[number]>[]
    : { [K in keyof T]?: Told<T[K]> };

/** Asks for each value; what cannot be told yet is left out. */
export function collect<T extends object>(fields: T): Told<T> {
  return (toldOf(fields) ?? {}) as Told<T>;
}

function toldOf(field: unknown): unknown {
  if (typeof field === "function") {
    try {
      return field() ?? undefined;
    } catch (error) {
      if (error instanceof Pending) return undefined;
      throw error;
    }
  }
  if (Array.isArray(field)) {
    const items = field.map(toldOf).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  const entries = Object.entries(field as object).map(([name, each]) => [name, toldOf(each)] as const);
  const known = entries.filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}
${options.omits ? omits : ""}`;
}

const omits = `
/** Without the fields that an expression left out with omit(). */
export function withoutOmitted<T>(value: T): T {
  if (Array.isArray(value)) return value.filter((each) => each !== undefined).map(withoutOmitted) as T;
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(kept.map(([name, each]) => [name, withoutOmitted(each)])) as T;
}
`;
