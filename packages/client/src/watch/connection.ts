/** One watch connection: it is opened, filled chunk by chunk on demand, and closed. */

import type { Cancel, Clock } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import { ClientError } from "../errors.ts";
import { LineSplitter } from "../objects/lines.ts";
import { ObjectEvent, type ReceivedEvent, receiveEvent } from "../objects/receive.ts";
import { type Decoding, ReceivedObject } from "../objects/received.ts";
import type { Requester } from "../request/requester.ts";

export interface OpenWatch {
  readonly requester: Requester;
  readonly doing: string;
  readonly path: string;
  readonly accept: string;
  readonly decoding: Decoding;
  readonly signal?: AbortSignal;
  /** 0 makes one attempt: the caller does its own waiting. */
  readonly retries?: number;
  /** An event is good until the next call of `take`; otherwise for ever. */
  readonly reuse?: boolean;
}

/**
 * Events are taken with `take` as far as they have arrived, and `fill` waits for more. Nothing is read from
 * the socket in between, so that a slow consumer holds the server back instead of filling memory.
 */
export class WatchConnection {
  readonly #clock: Clock;
  readonly #doing: string;
  readonly #decoding: Decoding;
  readonly #abort: AbortController;
  readonly #body: AsyncIterator<Uint8Array>;
  readonly #lines = new LineSplitter();
  readonly #release: () => void;
  /** Where `reuse` allows, the one event that all are. */
  readonly #event: ObjectEvent | undefined;
  #ended = false;
  /** The wait under way, when it must not last for ever. */
  #silence:
    | { readonly beganAt: number; readonly ms: number; readonly reject: (error: Error) => void }
    | undefined;
  #timer: { readonly dueAt: number; readonly cancel: Cancel } | undefined;
  /** Size of what `take` returned last. */
  taken = 0;

  private constructor(
    open: OpenWatch,
    abort: AbortController,
    body: AsyncIterator<Uint8Array>,
    release: () => void,
  ) {
    this.#clock = open.requester.settings.clock;
    this.#doing = open.doing;
    this.#decoding = open.decoding;
    this.#abort = abort;
    this.#body = body;
    this.#release = release;
    this.#event = open.reuse ? new ObjectEvent("item", ReceivedObject.blank(open.decoding)) : undefined;
  }

  static async open(open: OpenWatch): Promise<WatchConnection> {
    const abort = new AbortController();
    const forward = () => abort.abort(open.signal?.reason);
    if (open.signal?.aborted) forward();
    open.signal?.addEventListener("abort", forward, { once: true });
    const release = () => open.signal?.removeEventListener("abort", forward);
    try {
      const response = await open.requester.stream({
        doing: open.doing,
        method: "GET",
        path: open.path,
        accept: open.accept,
        signal: abort.signal,
        retries: open.retries,
        reuse: open.reuse,
      });
      return new WatchConnection(open, abort, response.body[Symbol.asyncIterator](), release);
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The next event that has arrived whole; undefined when `fill` must wait for more. */
  take(): ReceivedEvent | undefined {
    const lines = this.#lines;
    while (lines.next()) {
      this.taken = lines.end - lines.start;
      if (this.taken > 0)
        return receiveEvent(lines.bytes, lines.start, lines.end, this.#decoding, this.#event);
    }
    return undefined;
  }

  /**
   * Waits for more bytes; false when the server ended the watch properly. With `silenceMs`, throws
   * `StreamSilent` when not a byte comes for so long.
   */
  async fill(silenceMs?: number): Promise<boolean> {
    if (this.#ended) return false;
    const result = await this.#next(silenceMs);
    if (!result.done) {
      this.#lines.push(result.value);
      return true;
    }
    this.#ended = true;
    if (this.#lines.rest > 0) {
      throw new ClientError(
        "ConnectionLost",
        `cannot ${this.#doing}: the stream ended in the middle of an event`,
      );
    }
    return false;
  }

  async close(): Promise<void> {
    this.#release();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#ended = true;
    this.#abort.abort(new ClientError("ConnectionLost", "the watch was closed"));
    await this.#body.return?.().catch(() => {});
  }

  #next(silenceMs: number | undefined): Promise<IteratorResult<Uint8Array>> {
    if (silenceMs === undefined) return this.#body.next().catch((cause) => this.#broken(cause));
    return new Promise((resolve, reject) => {
      this.#silence = { beganAt: this.#clock.monotonic(), ms: silenceMs, reject };
      this.#listen(silenceMs);
      this.#body.next().then(
        (result) => {
          this.#silence = undefined;
          resolve(result);
        },
        (cause) => {
          this.#silence = undefined;
          reject(this.#explain(cause));
        },
      );
    });
  }

  /** One timer for many waits, which looks when it is due whether its own has lasted: most end within a moment. */
  #listen(afterMs: number): void {
    if (this.#timer && this.#timer.dueAt <= this.#clock.monotonic() + afterMs) return;
    this.#timer?.cancel();
    this.#timer = {
      dueAt: this.#clock.monotonic() + afterMs,
      cancel: this.#clock.timer(afterMs, () => this.#onTimer()),
    };
  }

  #onTimer(): void {
    this.#timer = undefined;
    const silence = this.#silence;
    if (!silence) return;
    const leftMs = silence.beganAt + silence.ms - this.#clock.monotonic();
    if (leftMs > 0) {
      this.#listen(leftMs);
      return;
    }
    const error = new ClientError(
      "StreamSilent",
      `cannot ${this.#doing}: the connection has been silent for ${Math.round(silence.ms / 1000)} s and is taken for dead`,
    );
    this.#abort.abort(error);
    silence.reject(error);
  }

  #broken(cause: unknown): never {
    throw this.#explain(cause);
  }

  #explain(cause: unknown): unknown {
    if (this.#abort.signal.aborted) return this.#abort.signal.reason;
    const message = errorText(cause);
    return new ClientError("ConnectionLost", `cannot ${this.#doing}: ${message}`, { cause });
  }
}
