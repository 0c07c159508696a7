/** Watches: events after a revision, seen through selectors, until the time is over. */
import type { Clock, JsonObject, Random } from "@keelson/core";
import type { Form } from "../codec/form.ts";
import { expired, statusOf } from "../errors.ts";
import type { ApiObject } from "../hooks.ts";
import type { BodyStream, Sink } from "../http/message.ts";
import type { Store } from "../storage/store.ts";
import type { EventType, StoreEvent, Table } from "../storage/table.ts";
import { tooLarge } from "./list.ts";
import { type ListOptions, parseRevisionOrFail } from "./list-options.ts";
import type { Selection } from "./selection.ts";

/** A watcher that falls this far behind is cut off; its client starts again from what it has seen. */
const maxPendingBytes = 16 * 1024 * 1024;
const bookmarkIntervalMs = 60_000;
const minTimeoutMs = 1_800_000;

/** Shows one event in the client's version and form. */
export type EventEncoder = (
  event: StoreEvent,
  type: EventType,
  object: ApiObject,
) => Uint8Array | Promise<Uint8Array>;

export interface WatchRequest {
  readonly store: Store;
  readonly table: Table;
  /** `namespace/`, or empty for all. */
  readonly prefix: string;
  readonly selection: Selection;
  readonly options: ListOptions;
  readonly form: Form;
  readonly encode: EventEncoder;
  /** An object that carries nothing but a resourceVersion. */
  readonly bookmark: (metadata: JsonObject) => JsonObject;
  readonly clock: Clock;
  readonly random: Random;
  /** Runs when the watch must end early: its resource is gone. Returns how to take that back. */
  readonly onGone?: (end: () => void) => () => void;
}

interface Start {
  readonly initial: readonly StoreEvent[];
  /** Live events up to here are part of `initial` already. */
  readonly revision: number;
  readonly endsWithBookmark: boolean;
}

/** Throws what must be answered before the stream begins; what comes later is an ERROR event. */
export function watchObjects(request: WatchRequest): BodyStream {
  const { store, options } = request;
  const requested = parseRevisionOrFail(options.resourceVersion) ?? 0;
  if (options.sendInitialEvents === true && requested > store.revision)
    throw tooLarge(requested, store.revision);
  return { open: (sink) => new Watcher(request, sink).run(requested) };
}

class Watcher {
  readonly #request: WatchRequest;
  readonly #sink: Sink;
  readonly #cleanups: (() => void)[] = [];
  /** Set while an event waits for an asynchronous conversion: later ones queue behind it. */
  #tail: Promise<void> | undefined;
  #closed = false;

  constructor(request: WatchRequest, sink: Sink) {
    this.#request = request;
    this.#sink = sink;
  }

  run(requested: number): void {
    const { store, table, clock } = this.#request;
    const start = this.#start(requested);
    if (!start) {
      const oldest = Math.max(table.compacted, 1);
      this.#sink.write(this.#error(expired(`too old resource version: ${requested} (${oldest})`)));
      this.#sink.end();
      return;
    }
    const settled = store.settled();
    // What is shown must be durable: a crash may not take back what a watcher has seen.
    if (settled) this.#tail = settled.then(() => this.#done());
    this.#cleanups.push(
      table.subscribe((event) => {
        if (event.revision > start.revision) this.#deliver(event);
      }),
    );
    for (const event of start.initial) this.#deliver(event);
    if (start.endsWithBookmark) this.#bookmark(start.revision, { "k8s.io/initial-events-end": "true" });
    this.#schedule(clock);
    this.#sink.onClose(() => this.#close());
    const stop = this.#request.onGone?.(() => this.#end());
    if (stop) this.#cleanups.push(stop);
  }

  #start(requested: number): Start | undefined {
    const { store, table, prefix, options } = this.#request;
    const { sendInitialEvents } = options;
    const revision = store.revision;
    if (sendInitialEvents === true || (sendInitialEvents === undefined && requested === 0)) {
      const initial = table.rangeEntries(prefix).map(
        ([key, object]): StoreEvent => ({
          type: "ADDED",
          revision: Number(object.metadata.resourceVersion),
          key,
          object,
          previous: undefined,
        }),
      );
      return { initial, revision, endsWithBookmark: sendInitialEvents === true && options.bookmarks };
    }
    if (requested === 0) return { initial: [], revision, endsWithBookmark: false };
    const initial = table.eventsAfter(requested);
    return initial && { initial, revision: Math.max(revision, requested), endsWithBookmark: false };
  }

  #schedule(clock: Clock): void {
    const { options, random, store } = this.#request;
    const timeoutMs = options.timeoutSeconds
      ? options.timeoutSeconds * 1000
      : Math.floor(minTimeoutMs * (1 + random.next()));
    this.#cleanups.push(clock.timer(timeoutMs, () => this.#end()));
    if (!options.bookmarks) return;
    const periodically = (delayMs: number) => {
      const cancel = clock.timer(delayMs, () => {
        this.#bookmark(store.published);
        periodically(bookmarkIntervalMs);
      });
      this.#cleanups.push(cancel);
    };
    periodically(bookmarkIntervalMs);
    if (timeoutMs > 4000)
      this.#cleanups.push(clock.timer(timeoutMs - 2000, () => this.#bookmark(store.published)));
  }

  /** The change as the selector sees it: entering is ADDED, leaving is DELETED in the last state that matched. */
  #deliver(event: StoreEvent): void {
    const { prefix, selection } = this.#request;
    if (prefix && !event.key.startsWith(prefix)) return;
    if (selection.empty) {
      this.#show(event, event.type, event.object);
      return;
    }
    const { previous } = event;
    const was = previous !== undefined && selection.matches(previous);
    const is = event.type !== "DELETED" && selection.matches(event.object);
    if (is) this.#show(event, was ? "MODIFIED" : "ADDED", event.object);
    else if (was) this.#show(event, "DELETED", event.type === "DELETED" ? event.object : departed(event));
  }

  #show(event: StoreEvent, type: EventType, object: ApiObject): void {
    if (this.#tail) {
      this.#chain(() => this.#request.encode(event, type, object));
      return;
    }
    const bytes = this.#request.encode(event, type, object);
    if (bytes instanceof Promise) this.#chain(() => bytes);
    else this.#write(bytes);
  }

  #chain(produce: () => Uint8Array | Promise<Uint8Array>): void {
    const step = (this.#tail ?? Promise.resolve()).then(produce).then(
      (bytes) => this.#write(bytes),
      (error: unknown) => this.#fail(error),
    );
    const tail: Promise<void> = step.then(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    this.#tail = tail;
  }

  #done(): void {
    this.#tail = undefined;
  }

  #bookmark(revision: number, annotations?: JsonObject): void {
    const metadata: JsonObject = { resourceVersion: String(revision) };
    if (annotations) metadata.annotations = annotations;
    const { form, bookmark } = this.#request;
    const produce = () => form.frame("BOOKMARK", form.value(bookmark(metadata)));
    if (this.#tail) this.#chain(produce);
    else this.#write(produce());
  }

  #write(bytes: Uint8Array): void {
    if (this.#closed) return;
    if (this.#sink.pendingBytes > maxPendingBytes) {
      this.#sink.abort();
      this.#close();
      return;
    }
    this.#sink.write(bytes);
  }

  #fail(error: unknown): void {
    this.#write(this.#error(error));
    this.#end();
  }

  #error(error: unknown): Uint8Array {
    const { form } = this.#request;
    return form.frame("ERROR", form.value(statusOf(error) as unknown as JsonObject));
  }

  #end(): void {
    if (this.#closed) return;
    this.#close();
    this.#sink.end();
  }

  #close(): void {
    this.#closed = true;
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
  }
}

const departures = new WeakMap<StoreEvent, ApiObject>();

/** The last state that matched, under the revision at which it ceased to. */
function departed(event: StoreEvent): ApiObject {
  let object = departures.get(event);
  if (!object) {
    const previous = event.previous as ApiObject;
    object = Object.freeze({
      ...previous,
      metadata: Object.freeze({ ...previous.metadata, resourceVersion: String(event.revision) }),
    });
    departures.set(event, object);
  }
  return object;
}
