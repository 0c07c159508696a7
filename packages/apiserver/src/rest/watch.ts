/** Watches: events after a revision, seen through selectors, until the time is over. */
import type { Clock, JsonObject, Random } from "@keelson/core";
import type { Form } from "../codec/form.ts";
import type { ApiObject } from "../contracts/object.ts";
import { expired, statusOf } from "../contracts/status-error.ts";
import type { BodyStream, Sink } from "../messages/message.ts";
import type { Store } from "../storage/store.ts";
import type { EventType, StoreEvent, Table } from "../storage/table.ts";
import { type Show, tooLarge } from "./list.ts";
import { type ListOptions, parseRevisionOrFail } from "./list-options.ts";
import type { Selection } from "./selection.ts";

/** What may be on its way to a client before the watch waits for it. */
const maxPendingBytes = 256 * 1024;
/** Events that are read at a time when a watch has to catch up. */
const pageEvents = 500;
const bookmarkIntervalMs = 60_000;
const minTimeoutMs = 1_800_000;
/** Node keeps a list for every length of time that a timer was ever set for; so let there be few. */
const timeoutStepMs = 10_000;

/** Shows one event in the client's version and form; what is there at the beginning is no event. */
export type EventEncoder = (
  event: StoreEvent | undefined,
  type: EventType,
  object: ApiObject,
) => Uint8Array | Promise<Uint8Array>;

export interface WatchRequest {
  readonly store: Store;
  readonly table: Table;
  /** `namespace/`, or empty for all. */
  readonly prefix: string;
  readonly selection: Selection;
  readonly show: Show;
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

/** Throws what must be answered before the stream begins; what comes later is an ERROR event. */
export function watchObjects(request: WatchRequest): BodyStream {
  const { store, options } = request;
  const requested = parseRevisionOrFail(options.resourceVersion) ?? 0;
  if (options.sendInitialEvents === true && requested > store.revision)
    throw tooLarge(requested, store.revision);
  return { open: (sink) => new Watcher(request, sink).run(requested) };
}

/**
 * A watcher is a place in the table's events. While its client keeps up it is handed events as they are published;
 * while the client does not, nothing is kept for it, and it reads on from the table when the client has taken what
 * was sent. When the table has forgotten what comes next, the connection is broken off: the client starts again.
 */
class Watcher {
  readonly #request: WatchRequest;
  readonly #sink: Sink;
  readonly #cleanups: (() => void)[] = [];
  /** What was there at the beginning and is not yet sent, the next one last. */
  #initial: ApiObject[] = [];
  #endsWithBookmark = false;
  /** All events up to here are sent, or not for this watcher. */
  #revision = 0;
  /** What is waited for: the client, the disk, a conversion, and what has to be waited for after that. */
  #waiting = 0;
  #closed = false;

  constructor(request: WatchRequest, sink: Sink) {
    this.#request = request;
    this.#sink = sink;
  }

  run(requested: number): void {
    const { store, table, clock } = this.#request;
    if (!this.#start(requested)) {
      const oldest = Math.max(table.compacted, 1);
      this.#sink.write(this.#error(expired(`too old resource version: ${requested} (${oldest})`)));
      this.#sink.end();
      return;
    }
    this.#cleanups.push(table.subscribe((event) => this.#published(event)));
    this.#schedule(clock);
    this.#sink.onClose(() => this.#close());
    const stop = this.#request.onGone?.(() => this.#end());
    if (stop) this.#cleanups.push(stop);
    // What is shown must be durable: a crash may not take back what a watcher has seen.
    const settled = store.settled();
    if (settled) this.#waitFor(settled);
    else this.#continue();
  }

  /** Whether the past is still known from which the watch is to begin. */
  #start(requested: number): boolean {
    const { store, table, prefix, options } = this.#request;
    const { sendInitialEvents } = options;
    if (sendInitialEvents === true || (sendInitialEvents === undefined && requested === 0)) {
      this.#revision = store.revision;
      this.#initial = table.range(prefix).reverse();
      this.#endsWithBookmark = sendInitialEvents === true && options.bookmarks;
      return true;
    }
    this.#revision = requested === 0 ? store.revision : requested;
    return this.#revision >= table.compacted;
  }

  #published(event: StoreEvent): void {
    if (this.#closed || event.revision <= this.#revision) return;
    if (this.#waiting > 0) {
      if (this.#revision < this.#request.table.compacted) this.#breakOff();
      return;
    }
    this.#revision = event.revision;
    this.#deliver(event);
  }

  /** Sends what is due, until there is no more or something must be waited for. */
  #continue(): void {
    const { store, table } = this.#request;
    while (this.#waiting === 0 && !this.#closed) {
      const first = this.#initial.pop();
      if (first) {
        this.#begin(first);
        continue;
      }
      if (this.#endsWithBookmark) {
        this.#endsWithBookmark = false;
        this.#bookmark(this.#revision, { "k8s.io/initial-events-end": "true" });
        continue;
      }
      const events = table.eventsAfter(this.#revision, pageEvents);
      if (!events) {
        this.#breakOff();
        return;
      }
      const due = events.filter(({ revision }) => revision <= store.published);
      if (due.length === 0) return;
      for (const event of due) {
        if (this.#waiting > 0 || this.#closed) return;
        this.#revision = event.revision;
        this.#deliver(event);
      }
    }
  }

  /** One of what is there at the beginning. */
  #begin(object: ApiObject): void {
    const { selection, show } = this.#request;
    const shown = selection.ofVersion ? show(object) : object;
    const add = (ready: ApiObject) => {
      if (selection.empty || selection.matches(ready)) this.#show(undefined, "ADDED", object);
    };
    if (shown instanceof Promise) this.#waitFor(shown.then(add));
    else add(shown);
  }

  #waitFor(something: Promise<unknown>): void {
    this.#waiting++;
    something.then(
      () => {
        this.#waiting--;
        this.#continue();
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #schedule(clock: Clock): void {
    const { options, random, store } = this.#request;
    const timeoutMs = options.timeoutSeconds
      ? Math.max(0, options.timeoutSeconds) * 1000
      : minTimeoutMs + Math.floor((random.next() * minTimeoutMs) / timeoutStepMs) * timeoutStepMs;
    this.#cleanups.push(clock.timer(timeoutMs, () => this.#end()));
    if (!options.bookmarks) return;
    const bookmark = () => {
      // One that is behind would claim to have seen what it has not.
      if (this.#waiting === 0) this.#bookmark(store.published);
    };
    let cancel: () => void;
    const periodically = () => {
      cancel = clock.timer(bookmarkIntervalMs, () => {
        bookmark();
        periodically();
      });
    };
    periodically();
    this.#cleanups.push(() => cancel());
    if (timeoutMs > 4000) this.#cleanups.push(clock.timer(timeoutMs - 2000, bookmark));
  }

  /** The change as the selector sees it: entering is ADDED, leaving is DELETED in the last state that matched. */
  #deliver(event: StoreEvent): void {
    const { prefix, selection } = this.#request;
    if (prefix && !event.key.startsWith(prefix)) return;
    if (selection.empty) {
      this.#show(event, event.type, event.object);
      return;
    }
    const after = event.type === "DELETED" ? undefined : event.object;
    if (!selection.ofVersion) {
      this.#change(event, event.previous, after);
      return;
    }
    const { show } = this.#request;
    const shown = Promise.all([event.previous && show(event.previous), after && show(after)]);
    this.#waitFor(shown.then(([was, is]) => this.#change(event, was, is)));
  }

  /** How the change looks to the selector, which is asked about both states. */
  #change(event: StoreEvent, before: ApiObject | undefined, after: ApiObject | undefined): void {
    const { selection } = this.#request;
    const was = before !== undefined && selection.matches(before);
    const is = after !== undefined && selection.matches(after);
    if (is) this.#show(event, was ? "MODIFIED" : "ADDED", event.object);
    else if (was) this.#show(event, "DELETED", event.type === "DELETED" ? event.object : departed(event));
  }

  #show(event: StoreEvent | undefined, type: EventType, object: ApiObject): void {
    try {
      const bytes = this.#request.encode(event, type, object);
      if (bytes instanceof Promise) this.#waitFor(bytes.then((ready) => this.#send(ready)));
      else this.#write(bytes);
    } catch (error) {
      this.#fail(error);
    }
  }

  #bookmark(revision: number, annotations?: JsonObject): void {
    const metadata: JsonObject = { resourceVersion: String(revision) };
    if (annotations) metadata.annotations = annotations;
    const { form, bookmark } = this.#request;
    this.#revision = Math.max(this.#revision, revision);
    try {
      this.#write(form.frame("BOOKMARK", form.value(bookmark(metadata))));
    } catch (error) {
      this.#fail(error);
    }
  }

  #write(bytes: Uint8Array): void {
    const drained = this.#send(bytes);
    if (drained) this.#waitFor(drained);
  }

  /** What to wait for before more is sent. */
  #send(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#closed) return undefined;
    this.#sink.write(bytes);
    return this.#sink.pendingBytes > maxPendingBytes ? this.#sink.drained() : undefined;
  }

  #fail(error: unknown): void {
    if (this.#closed) return;
    this.#sink.write(this.#error(error));
    this.#end();
  }

  #error(error: unknown): Uint8Array {
    const { form } = this.#request;
    return form.frame("ERROR", form.value(statusOf(error) as unknown as JsonObject));
  }

  #end(): void {
    if (this.#closed) return;
    // To a client that takes nothing no end can be told.
    if (this.#sink.pendingBytes > maxPendingBytes) {
      this.#breakOff();
      return;
    }
    this.#close();
    this.#sink.end();
  }

  #breakOff(): void {
    this.#close();
    this.#sink.abort();
  }

  #close(): void {
    this.#closed = true;
    this.#initial = [];
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
