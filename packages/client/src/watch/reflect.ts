/** `reflect()`: an endless watch that begins with the whole state, resumes by itself, and begins again when it must. */

import { type AnyKind, type KubeObject, resourcePath } from "@keelson/core";
import { asError } from "@keelson/core/internal";
import type { ReflectEvent, Reflection, ReflectOptions, RestartReason } from "../client/client.ts";
import { type Query, selected, selectQuery, withQuery } from "../client/paths.ts";
import { ApiError, ClientError, isExpired } from "../errors.ts";
import { readListPage } from "../objects/list-page.ts";
import { ObjectEvent, type ReceivedEvent, receiveItem } from "../objects/receive.ts";
import { Decoding } from "../objects/received.ts";
import { compareResourceVersions } from "../objects/resource-version.ts";
import { Slices } from "../objects/slices.ts";
import { Backoff, pause } from "../request/backoff.ts";
import type { Requester } from "../request/requester.ts";
import { WatchConnection } from "./connection.ts";
import { metadataAccept } from "./watch.ts";

const reconnectBackoff = { firstMs: 200, longestMs: 30_000 };
const defaultPageSize = 500;
const pageTimeoutMs = 60_000;
/** A watch asks the server to end it after 5 to 10 minutes, so that load spreads over several of them in time. */
const shortestWatchS = 300;
/**
 * A server that sends bookmarks does so every minute; two and a half of them missing is a dead connection. One that
 * has never sent any may have nothing to say: its watch is opened again at its last resource version, without an error.
 */
const bookmarkSilenceMs = 150_000;
/** A server that streams the initial state never rests this long before its end mark. */
const streamSilenceMs = 10_000;
/** A watch that ends sooner than this without a word is a failure, not a rotation. */
const shortLifeMs = 1_000;

/** Old servers ignore the `drop` parameter and send the fields, which are then dropped here. */
const trimmedAccept = "application/json;drop=metadata.managedFields,application/json";

const metadataListAccept = metadataAccept.replace("PartialObjectMetadata", "PartialObjectMetadataList");

type Event = ReflectEvent<KubeObject>;

/**
 * - `starting`: no state, or one that must be replaced; the next step opens a stream or asks for a first page.
 * - `streaming`: the server sends the whole state as events, up to its end mark.
 * - `listing`: a page's items are handed out; the next step asks for the page after it.
 * - `opening`: the state is complete; the next step opens a watch from the last version.
 * - `following`: a watch is open.
 * - `resting`: something failed; the next step waits, then goes on with `starting` or `opening`.
 */
type Phase = "starting" | "streaming" | "listing" | "opening" | "following" | "resting";

export function reflect(
  requester: Requester,
  kind: AnyKind,
  options: ReflectOptions,
): Reflection<KubeObject> {
  return {
    [Symbol.asyncIterator]: () => iterate(requester, kind, options),
    forEach: (take) => forEach(requester, kind, options, take),
  };
}

async function* iterate(
  requester: Requester,
  kind: AnyKind,
  options: ReflectOptions,
): AsyncGenerator<Event, void, void> {
  const reflector = new Reflector(requester, kind, options, false);
  const slices = new Slices(requester.settings.clock);
  try {
    while (!options.signal?.aborted) {
      for (let event = reflector.take(); event !== undefined; event = reflector.take()) {
        yield event;
        if (options.signal?.aborted) return;
        if (slices.due(reflector.taken)) await slices.rest();
      }
      slices.pause();
      await reflector.advance();
      slices.resume();
    }
  } finally {
    await reflector.close();
  }
}

/** An iteration costs three turns of the microtask queue per event: more than all else that is done with one. */
async function forEach(
  requester: Requester,
  kind: AnyKind,
  options: ReflectOptions,
  take: (event: Event) => void,
): Promise<void> {
  const reflector = new Reflector(requester, kind, options, true);
  const slices = new Slices(requester.settings.clock);
  try {
    while (!options.signal?.aborted) {
      for (let event = reflector.take(); event !== undefined; event = reflector.take()) {
        take(event);
        if (options.signal?.aborted) return;
        if (slices.due(reflector.taken)) await slices.rest();
      }
      slices.pause();
      await reflector.advance();
      slices.resume();
    }
  } finally {
    await reflector.close();
  }
}

/** The state machine behind `reflect`: `take` hands out what is at hand, `advance` does one step of waiting. */
class Reflector {
  readonly #requester: Requester;
  readonly #kind: AnyKind;
  readonly #options: ReflectOptions;
  readonly #doing: string;
  /** What was taken is no longer used when the next is. */
  readonly #reuse: boolean;
  readonly #decoding: Decoding;
  readonly #backoff: Backoff;
  /** Events of our own, ahead of the server's. */
  readonly #queue: Event[] = [];
  #phase: Phase = "starting";
  #reason: RestartReason = "start";
  #streams: boolean;
  #connection: WatchConnection | undefined;
  #items: Iterator<Buffer> | undefined;
  #continue: string | undefined;
  #pageVersion = "";
  #unpaged = false;
  #resourceVersion = "";
  #silenceMs = 0;
  #bookmarked = false;
  #openedAt = 0;
  #progressed = false;
  /** The last watch was silent. So is one from a version that the server has not reached, as after a restore of its storage. */
  #silent = false;
  /** Expired, and not one event since: the next time is a failure to back off from. */
  #expired = false;
  #cutOff = false;
  #retryInMs = 0;
  /** Size of what `take` returned last. */
  taken = 0;

  constructor(requester: Requester, kind: AnyKind, options: ReflectOptions, reuse: boolean) {
    this.#reuse = reuse;
    this.#requester = requester;
    this.#kind = kind;
    this.#options = options;
    this.#doing = selected(kind, options);
    const decode = { kind, metadataOnly: options.metadataOnly };
    this.#decoding = new Decoding(
      { ...decode, dropManagedFields: options.keepManagedFields !== true },
      { ...decode, dropManagedFields: !options.keepManagedFields },
    );
    this.#backoff = new Backoff(reconnectBackoff, requester.settings.random.fork("reflect"));
    this.#streams = options.initial !== "list";
  }

  take(): Event | undefined {
    this.taken = 0;
    for (;;) {
      if (this.#queue.length > 0) return this.#queue.shift();
      try {
        if (this.#items !== undefined) {
          const item = this.#items.next();
          if (!item.done) {
            this.taken = item.value.length;
            return new ObjectEvent("item", receiveItem(item.value, this.#decoding));
          }
          this.#items = undefined;
          this.#endPage();
          continue;
        }
        const event = this.#isConnected() ? this.#connection?.take() : undefined;
        if (event === undefined) return undefined;
        this.taken = this.#connection?.taken ?? 0;
        const out = this.#accept(event);
        if (out !== undefined) return out;
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  async advance(): Promise<void> {
    if (!this.#isConnected()) await this.close();
    try {
      await this.#step();
    } catch (error) {
      if (!this.#options.signal?.aborted) this.#fail(error);
    }
  }

  #isConnected(): boolean {
    return this.#phase === "streaming" || this.#phase === "following";
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  async #step(): Promise<void> {
    switch (this.#phase) {
      case "starting":
        return await this.#start();
      case "listing":
        return await this.#readPage();
      case "opening":
        return await this.#open();
      case "streaming":
      case "following":
        return await this.#fill();
      case "resting":
        await pause(this.#requester.settings.clock, this.#retryInMs, this.#options.signal);
        this.#phase = this.#resourceVersion === "" ? "starting" : "opening";
        return;
    }
  }

  async #start(): Promise<void> {
    if (!this.#streams) return await this.#readPage();
    try {
      await this.#connect({ sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" });
    } catch (error) {
      if (this.#options.initial === "stream" || !isUnsupported(error)) throw error;
      this.#streams = false;
      return await this.#readPage();
    }
    this.#phase = "streaming";
    this.#silenceMs = streamSilenceMs;
    this.#announce();
  }

  async #readPage(): Promise<void> {
    const bytes = await this.#requester.bytes({
      doing: `list ${this.#doing}`,
      method: "GET",
      path: withQuery(resourcePath(this.#kind, this.#options.namespace), {
        ...selectQuery(this.#options),
        limit: this.#unpaged ? undefined : (this.#options.pageSize ?? defaultPageSize),
        continue: this.#continue,
      }),
      accept: this.#options.metadataOnly ? metadataListAccept : this.#itemAccept(),
      signal: this.#options.signal,
      timeoutMs: this.#options.timeoutMs ?? pageTimeoutMs,
      retries: 0,
    });
    this.#answered();
    const page = readListPage(bytes);
    if (this.#phase === "starting") this.#announce();
    this.#phase = "listing";
    this.#items = page.items[Symbol.iterator]();
    this.#continue = page.envelope.metadata?.continue || undefined;
    this.#pageVersion = page.envelope.metadata?.resourceVersion ?? "";
    if (this.#pageVersion === "") {
      throw new ClientError("InvalidResponse", `cannot list ${this.#doing}: the list has no resourceVersion`);
    }
  }

  #endPage(): void {
    if (this.#continue === undefined) this.#synced(this.#pageVersion, "opening");
  }

  async #open(): Promise<void> {
    if (this.#silent && (await this.#isRewound())) {
      this.#restart("rewound");
      return;
    }
    await this.#connect({ resourceVersion: this.#resourceVersion });
    this.#phase = "following";
  }

  /** Whether the server's present state is older than ours. */
  async #isRewound(): Promise<boolean> {
    const { namespace, fields, signal } = this.#options;
    const bytes = await this.#requester.bytes({
      doing: `list ${this.#doing}`,
      method: "GET",
      path: withQuery(resourcePath(this.#kind, namespace), { ...selectQuery({ fields }), limit: 1 }),
      accept: metadataListAccept,
      signal,
      retries: 0,
    });
    const { resourceVersion = "" } = readListPage(bytes).envelope.metadata ?? {};
    this.#silent = false;
    return (compareResourceVersions(resourceVersion, this.#resourceVersion) ?? 0) < 0;
  }

  async #connect(query: Query): Promise<void> {
    const { clock, random } = this.#requester.settings;
    const timeoutS = Math.round(shortestWatchS * (1 + random.next()));
    this.#connection = await WatchConnection.open({
      requester: this.#requester,
      doing: `watch ${this.#doing}`,
      path: withQuery(resourcePath(this.#kind, this.#options.namespace), {
        watch: true,
        ...selectQuery(this.#options),
        allowWatchBookmarks: true,
        timeoutSeconds: timeoutS,
        ...query,
      }),
      accept: this.#options.metadataOnly ? metadataAccept : this.#itemAccept(),
      decoding: this.#decoding,
      signal: this.#options.signal,
      retries: 0,
      reuse: this.#reuse,
    });
    this.#openedAt = clock.monotonic();
    this.#silenceMs = bookmarkSilenceMs;
    this.#progressed = false;
    this.#answered();
  }

  async #fill(): Promise<void> {
    try {
      if (await this.#connection?.fill(this.#silenceMs)) return;
    } catch (error) {
      const silent = error instanceof ClientError && error.code === "StreamSilent";
      this.#silent = silent;
      if (silent && this.#phase === "following" && !this.#bookmarked) {
        this.#phase = "opening";
        return;
      }
      if (!silent || this.#phase !== "streaming" || this.#options.initial === "stream") throw error;
      return this.#streamIgnored();
    }
    if (this.#phase === "streaming") {
      throw new ClientError(
        "ConnectionLost",
        `cannot watch ${this.#doing}: the server ended its stream too early`,
      );
    }
    const livedMs = this.#requester.settings.clock.monotonic() - this.#openedAt;
    if (!this.#progressed && livedMs < shortLifeMs) {
      throw new ClientError(
        "ConnectionLost",
        `cannot watch ${this.#doing}: the server ended the watch at once`,
      );
    }
    this.#phase = "opening";
  }

  /** The server took our stream for an ordinary watch: only a list tells where the state is complete. */
  #streamIgnored(): void {
    this.#streams = false;
    this.#restart("failed");
  }

  #accept(event: ReceivedEvent): Event | undefined {
    if (event.type === "error") throw new ApiError(event.status, { doing: `watch ${this.#doing}` });
    const streaming = this.#phase === "streaming";
    if (event.type === "bookmark") {
      if (streaming) {
        if (event.initialEventsEnd) this.#synced(event.resourceVersion, "following");
        else if (this.#options.initial !== "stream") this.#streamIgnored();
        return undefined;
      }
      this.#bookmarked = true;
      return this.#forward(event.resourceVersion)
        ? { type: "bookmark", resourceVersion: event.resourceVersion }
        : undefined;
    }
    if (streaming) return event.type === "deleted" ? event : asItem(event);
    return this.#forward(event.received.resourceVersion) ? event : undefined;
  }

  /** Moves our place in the server's history; false when the history itself went back. */
  #forward(resourceVersion: string): boolean {
    const order = compareResourceVersions(resourceVersion, this.#resourceVersion);
    if (order !== undefined && order < 0) {
      this.#restart("rewound");
      // Rest a little, and longer each time: a server whose versions have no order must not be listed in a loop.
      this.#phase = "resting";
      this.#retryInMs = this.#backoff.next();
      return false;
    }
    this.#resourceVersion = resourceVersion;
    this.#progressed = true;
    this.#expired = false;
    this.#backoff.reset();
    return true;
  }

  #synced(resourceVersion: string, next: Phase): void {
    this.#resourceVersion = resourceVersion;
    this.#phase = next;
    this.#unpaged = false;
    this.#progressed = true;
    this.#silenceMs = bookmarkSilenceMs;
    this.#queue.push({ type: "synced", resourceVersion });
  }

  /** Everything from the beginning, in the next step. */
  #restart(reason: RestartReason): void {
    this.#phase = "starting";
    this.#reason = reason;
    this.#resourceVersion = "";
    this.#continue = undefined;
    this.#items = undefined;
  }

  /** A new state begins to arrive. Should it break off, the next one begins because of that. */
  #announce(): void {
    this.#queue.push({ type: "restart", reason: this.#reason });
    this.#reason = "failed";
  }

  #answered(): void {
    if (!this.#cutOff) return;
    this.#cutOff = false;
    this.#queue.push({ type: "resumed" });
  }

  #fail(error: unknown): void {
    if (isHopeless(error, this.#resourceVersion !== "")) throw error;
    const complete = this.#phase === "opening" || this.#phase === "following";
    if (isExpired(error) && complete && !this.#expired) {
      this.#expired = true;
      this.#restart("expired");
      return;
    }
    if (isExpired(error) && this.#phase === "listing") this.#unpaged = true;
    if (!complete || isExpired(error) || isRefusedVersion(error)) {
      this.#restart(isExpired(error) ? "expired" : this.#reason);
    }
    this.#retryInMs = Math.max(
      this.#backoff.next(),
      error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0,
    );
    this.#phase = "resting";
    this.#cutOff = true;
    this.#queue.push({
      type: "interrupted",
      error: asError(error),
      attempt: this.#backoff.attempt,
      retryInMs: this.#retryInMs,
    });
  }

  #itemAccept(): string {
    return this.#options.keepManagedFields ? "application/json" : trimmedAccept;
  }
}

/** Renamed and not made again: this is done for every object of a state. */
function asItem(event: ObjectEvent): ObjectEvent {
  event.type = "item";
  return event;
}

/** How servers without WatchList refuse it: they forbid the field or do not know it. */
function isUnsupported(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 422 || error.code === 400);
}

/** A version that a server cannot even read, as after it was replaced by another. */
function isRefusedVersion(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 400 || error.code === 422);
}

/** A request that will be refused for ever, whatever happens to the server. */
function isHopeless(error: unknown, hadVersion: boolean): boolean {
  if (error instanceof ApiError) return !hadVersion && (error.code === 400 || error.code === 405);
  return error instanceof ClientError ? error.code === "InvalidRequest" : !(error instanceof Error);
}
