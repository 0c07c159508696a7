/** A server, its watches and a garbage collector in which chance decides what comes when, and a seed decides chance. */
import { ApiError, type Client, type DeleteOptions } from "@keelson/client";
import {
  type AnyKind,
  dynamicKind,
  type JsonObject,
  type ObjectRef,
  type OwnerReference,
  type Stored,
} from "@keelson/core";
import { silentLogger } from "@keelson/runtime";
import { SeededRandom, VirtualClock } from "@keelson/testing/clock";
import type { EveryChange } from "../src/everything/every-kind.ts";
import { Collector } from "../src/garbage-collector/collector.ts";

const kindNamed = (kind: string) =>
  dynamicKind({ group: "", version: "v1", kind, resource: kind.toLowerCase(), scope: "Namespaced" });

export const kinds = ["Root", "Branch", "Leaf"].map(kindNamed);
const namespace = "default";
const names = ["a", "b", "c"];

type Told = { readonly type: "added" | "modified" | "deleted"; readonly object: Stored };

/** What was deleted although an owner of it was there and stayed. */
export interface Mistake {
  readonly object: Stored;
}

export class GarbageWorld implements Disposable {
  readonly objects = new Map<string, Stored>();
  readonly mistakes: Mistake[] = [];
  readonly #random: SeededRandom;
  readonly #clock = new VirtualClock();
  readonly #end = new AbortController();
  readonly #handlers: EveryChange[] = [];
  /** Events on their way, per kind and in order. */
  readonly #onTheWay = new Map<AnyKind, Told[]>(kinds.map((kind) => [kind, []]));
  /** What the watch of a kind has told, by name. */
  readonly #told = new Map<AnyKind, Map<string, Stored>>(kinds.map((kind) => [kind, new Map()]));
  /** Requests of the collector that wait for their turn. */
  readonly #requests: (() => void)[] = [];
  readonly #everLived = new Map<AnyKind, { name: string; uid: string }[]>(kinds.map((kind) => [kind, []]));
  readonly #withdrawn = new Set<AnyKind>();
  #versions = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    const collector = new Collector({
      client: { kind: (kind: AnyKind) => this.#verbs(kind) } as unknown as Client,
      everything: {
        onChange: (handler) => void this.#handlers.push(handler),
        find: (_apiVersion, name) => kinds.find((kind) => kind.kind === name && !this.#withdrawn.has(kind)),
      },
      clock: this.#clock,
      random: this.#random.fork("collector"),
      log: silentLogger,
      event: () => {},
      signal: this.#end.signal,
    });
    collector.start();
  }

  [Symbol.dispose](): void {
    this.#end.abort();
  }

  /** Lets users, watches and the collector have their turns in an order random. */
  async live(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await this.#one([
        [3, () => this.#createSome()],
        [2, () => this.#deleteSome()],
        [1, () => this.#touchSome()],
        [1, () => this.#adoptSome()],
        [4, () => this.#tellOne()],
        [1, () => this.gap(this.#pick(kinds) as AnyKind)],
        [8, () => this.#answerOne()],
      ]);
    }
  }

  /** Nobody does anything more, everything arrives, and the collector has the time for a few tries. */
  async comesToRest(): Promise<void> {
    for (let round = 0; round < 5; round++) {
      while (this.#requests.length > 0 || [...this.#onTheWay.values()].some((list) => list.length > 0)) {
        await this.#one([
          [1, () => this.#tellOne()],
          [1, () => this.#answerOne()],
        ]);
      }
      await this.#clock.advance(60_000);
    }
  }

  /** What is left although none of its owners is. */
  get garbage(): Stored[] {
    return [...this.objects.values()].filter((object) => {
      const owners = object.metadata.ownerReferences ?? [];
      return owners.length > 0 && !owners.some((owner) => this.#ownerOf(owner));
    });
  }

  // ------------------------------------------------------------------------------------ what may be made to happen

  create(kind: AnyKind, name: string, ownerReferences: OwnerReference[] = []): Stored {
    const metadata = {
      namespace,
      name,
      uid: this.#random.uuid(),
      resourceVersion: this.#version(),
      creationTimestamp: "2026-01-01T00:00:00Z",
      ownerReferences,
    };
    const object: Stored = { apiVersion: "v1", kind: kind.kind, metadata };
    this.#put(kind, object, "added");
    return object;
  }

  delete(kind: AnyKind, name: string): void {
    const object = this.objects.get(idOf(kind, name));
    if (object) this.#remove(kind, object, "Background");
  }

  /** The watch of a kind tells all that it has to tell. */
  tell(kind: AnyKind): void {
    for (const event of this.#onTheWay.get(kind)?.splice(0) ?? []) this.#tell(kind, event);
  }

  /** A watch breaks and is read again: of what came and went meanwhile nobody hears. */
  gap(kind: AnyKind): void {
    this.#onTheWay.set(kind, []);
    const there = [...this.objects.values()].filter((object) => object.kind === kind.kind);
    for (const object of there) this.#tell(kind, { type: "modified", object });
    for (const [name, object] of this.#told.get(kind) ?? []) {
      if (!there.some(({ metadata }) => metadata.name === name))
        this.#tell(kind, { type: "deleted", object });
    }
  }

  /** The kind is not served any more: nobody can be asked about its objects. */
  withdraw(kind: AnyKind): void {
    this.#withdrawn.add(kind);
  }

  /** The collector's requests are answered until it has no more. */
  async answer(): Promise<void> {
    await this.#clock.settle();
    while (this.#requests.length > 0) {
      this.#requests.shift()?.();
      await this.#clock.settle();
    }
  }

  // ------------------------------------------------------------------------------------ what happens by chance

  async #one(choices: readonly (readonly [weight: number, act: () => void])[]): Promise<void> {
    const total = choices.reduce((sum, [weight]) => sum + weight, 0);
    let draw = this.#random.next() * total;
    for (const [weight, act] of choices) {
      draw -= weight;
      if (draw > 0) continue;
      act();
      break;
    }
    for (let i = 0; i < 8; i++) await Promise.resolve();
  }

  /** Owners are there, were there once, or never: the author of the object knew no better. */
  #createSome(): void {
    const kind = this.#pick(kinds);
    const name = this.#pick(names);
    if (!kind || !name || this.objects.has(idOf(kind, name))) return;
    const upper = kinds[kinds.indexOf(kind) - 1];
    const owners = upper ? [this.#anOwner(upper), this.#anOwner(upper)] : [];
    this.create(kind, name, this.#random.next() < 0.5 ? owners : owners.slice(1));
  }

  #anOwner(kind: AnyKind) {
    const lived = this.#pick(this.#everLived.get(kind)?.slice(-2) ?? []);
    const { name, uid } = lived ?? { name: "a", uid: this.#random.uuid() };
    const blockOwnerDeletion = this.#random.next() < 0.5;
    return { apiVersion: "v1", kind: kind.kind, name, uid, blockOwnerDeletion };
  }

  #deleteSome(): void {
    const object = this.#pick([...this.objects.values()]);
    const kind = object && kinds.find((each) => each.kind === object.kind);
    if (!kind) return;
    this.#remove(kind, object, this.#random.next() < 0.3 ? "Foreground" : "Background");
  }

  #touchSome(): void {
    const object = this.#pick([...this.objects.values()]);
    const kind = object && kinds.find((each) => each.kind === object.kind);
    if (kind)
      this.#put(kind, { ...object, metadata: { ...object.metadata, resourceVersion: this.#version() } });
  }

  /** An owner that is there takes what another had. */
  #adoptSome(): void {
    const object = this.#pick([...this.objects.values()]);
    const kind = object && kinds.find((each) => each.kind === object.kind);
    const upper = kind && kinds[kinds.indexOf(kind) - 1];
    const owner = upper && this.#pick(names.flatMap((name) => this.objects.get(idOf(upper, name)) ?? []));
    if (!owner) return;
    const { name, uid } = owner.metadata;
    const ownerReferences = [{ apiVersion: "v1", kind: upper.kind, name, uid }];
    const metadata = { ...object.metadata, ownerReferences, resourceVersion: this.#version() };
    this.#put(kind, { ...object, metadata });
  }

  #tellOne(): void {
    const kind = this.#pick(kinds.filter((each) => this.#onTheWay.get(each)?.length));
    const event = kind && this.#onTheWay.get(kind)?.shift();
    if (event) this.#tell(kind, event);
  }

  #answerOne(): void {
    const index = Math.floor(this.#random.next() * this.#requests.length);
    this.#requests.splice(index, 1)[0]?.();
  }

  // ------------------------------------------------------------------------------------ the server

  #verbs(kind: AnyKind) {
    const arrive = () => new Promise<void>((resolve) => this.#requests.push(resolve));
    const stored = ({ name }: ObjectRef) => this.objects.get(idOf(kind, name));
    return {
      find: async (ref: ObjectRef) => {
        await arrive();
        const object = stored(ref);
        await arrive();
        return object;
      },
      delete: async (ref: ObjectRef, { uid, resourceVersion, propagation }: DeleteOptions) => {
        await arrive();
        const object = stored(ref);
        if (!object) throw refusal("NotFound", 404);
        this.#demand(object, uid, resourceVersion);
        if (this.#keepers(object).length > 0) this.mistakes.push({ object });
        this.#remove(kind, object, propagation);
        await arrive();
      },
      patch: async (ref: ObjectRef, { body }: { body: JsonObject }) => {
        await arrive();
        const object = stored(ref);
        if (!object) throw refusal("NotFound", 404);
        const { uid, resourceVersion, ...metadata } = body.metadata as Partial<Stored["metadata"]>;
        this.#demand(object, uid, resourceVersion);
        const next = {
          ...object,
          metadata: { ...object.metadata, ...metadata, resourceVersion: this.#version() },
        };
        const { deletionTimestamp, finalizers = [] } = next.metadata;
        if (deletionTimestamp !== undefined && finalizers.length === 0) this.#drop(kind, next);
        else this.#put(kind, next);
        await arrive();
      },
    };
  }

  #demand(object: Stored, uid: string | undefined, resourceVersion: string | undefined): void {
    if (uid !== undefined && uid !== object.metadata.uid) throw refusal("Conflict", 409);
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion)
      throw refusal("Conflict", 409);
  }

  /** Owners that are there and do not wait for their dependents to go. */
  #keepers(object: Stored): Stored[] {
    return (object.metadata.ownerReferences ?? []).flatMap((reference) => {
      const owner = this.#ownerOf(reference);
      return owner && owner.metadata.deletionTimestamp === undefined ? [owner] : [];
    });
  }

  #ownerOf({ kind, name, uid }: { kind: string; name: string; uid: string }): Stored | undefined {
    const owner = this.objects.get(`${kind}/${name}`);
    return owner?.metadata.uid === uid ? owner : undefined;
  }

  #remove(kind: AnyKind, object: Stored, propagation: DeleteOptions["propagation"]): void {
    const { metadata } = object;
    if (metadata.deletionTimestamp !== undefined) return;
    const going = {
      deletionTimestamp: "2026-01-01T00:00:00Z",
      finalizers: ["foregroundDeletion"],
      resourceVersion: this.#version(),
    };
    if (propagation !== "Foreground") this.#drop(kind, object);
    else this.#put(kind, { ...object, metadata: { ...metadata, ...going } });
  }

  #put(kind: AnyKind, object: Stored, type: "added" | "modified" = "modified"): void {
    const { name, uid } = object.metadata;
    this.objects.set(idOf(kind, name), object);
    if (type === "added") this.#everLived.get(kind)?.push({ name, uid });
    this.#onTheWay.get(kind)?.push({ type, object });
  }

  #drop(kind: AnyKind, object: Stored): void {
    this.objects.delete(idOf(kind, object.metadata.name));
    this.#onTheWay.get(kind)?.push({ type: "deleted", object });
  }

  #tell(kind: AnyKind, { type, object }: Told): void {
    const told = this.#told.get(kind);
    const previous = told?.get(object.metadata.name);
    if (type === "deleted") told?.delete(object.metadata.name);
    else told?.set(object.metadata.name, object);
    for (const handler of this.#handlers) handler(kind, { type, object, previous });
  }

  #version(): string {
    return String(++this.#versions);
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#random.next() * list.length)];
  }
}

function idOf({ kind }: AnyKind, name: string): string {
  return `${kind}/${name}`;
}

function refusal(reason: "Conflict" | "NotFound", code: number): ApiError {
  const status = { apiVersion: "v1", kind: "Status", metadata: {}, reason, code } as const;
  return new ApiError(status, { doing: "serve" });
}
