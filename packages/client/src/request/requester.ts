/** One request from its settings to its JSON: timeouts, retries, and errors that say what we were doing. */

import {
  type Clock,
  type HttpHeaders,
  type HttpPort,
  type HttpResponse,
  type JsonValue,
  parseJson,
  type Random,
} from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { Client } from "../client/client.ts";
import { ApiError, ClientError, isUnsent } from "../errors.ts";
import { collect, statusOf, wholeOf } from "../transport/answer.ts";
import { Backoff, pause } from "./backoff.ts";

/** One call on the API server. */
export interface Call {
  /** What we are doing on which object, for messages: `get Pod default/web`. */
  readonly doing: string;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Overrides the client's own setting; 0 makes one attempt. */
  readonly retries?: number;
  /** See `HttpRequest.reuse`. */
  readonly reuse?: boolean;
}

export interface RequesterSettings {
  readonly http: HttpPort;
  readonly clock: Clock;
  readonly random: Random;
  readonly headers?: HttpHeaders;
  readonly timeoutMs?: number;
  /** How often one request is sent again at most; 0 for never. Default: 5. */
  readonly retries?: number;
  readonly onWarning?: (warning: ServerWarning) => void;
}

/** What the server thinks of a request that it carried out: a deprecated version, an unknown field. */
export interface ServerWarning {
  readonly text: string;
  /** What we were doing: `apply Service default/db`. */
  readonly doing: string;
}

const defaultTimeoutMs = 30_000;
const defaultRetries = 5;
const retryBackoff = { firstMs: 100, longestMs: 10_000 };
/** Retries that all requests of a client share; each success gives a tenth back. Keeps a sick server from a storm. */
const budgetSize = 50;

/**
 * Sends requests. Retried are: anything of which nothing was sent, reads that failed on the way, and whatever
 * the server turned away before working on it (429 and 503 with Retry-After). A write whose answer was lost is
 * never sent again: it throws `OutcomeUnknown`.
 */
export class Requester {
  readonly settings: RequesterSettings;
  #budget = budgetSize;
  #last: HttpHeaders | undefined;

  constructor(settings: RequesterSettings) {
    this.settings = settings;
  }

  /** Over a client's port, clock and headers, for verbs that are not of a kind. */
  static of(client: Pick<Client, "http" | "clock" | "random" | "headers">): Requester {
    const { http, clock, random, headers } = client;
    return new Requester({ http, clock, random, headers });
  }

  /** The answer as JSON, or what `read` makes of it. */
  json(call: Call, read: (answer: Buffer) => unknown = parsed): Promise<unknown> {
    return this.bytes(call).then((bytes) => {
      try {
        return read(bytes);
      } catch (cause) {
        throw unreadable(call, bytes, cause);
      }
    });
  }

  /** The answer as JSON where it is JSON, and as a string otherwise. */
  async text(call: Call): Promise<JsonValue> {
    const text = (await this.bytes(call)).toString("utf8");
    try {
      return parseJson(text);
    } catch {
      return text;
    }
  }

  /** The body of a successful answer. */
  bytes(call: Call): Promise<Buffer> {
    return this.#retrying(call, false, (scope) => this.#exchange(call, scope));
  }

  /**
   * A successful answer whose body may flow for ever: the timeout covers its beginning only. `call.signal`
   * stays in use for as long as the body flows; give each stream a signal of its own.
   */
  async stream(call: Call): Promise<HttpResponse> {
    return await this.#retrying(call, true, (scope) => this.#send(call, scope, true));
  }

  async #retrying<T>(call: Call, streaming: boolean, attempt: (scope: Scope) => Promise<T>): Promise<T> {
    const { clock, random } = this.settings;
    const timeoutMs = call.timeoutMs ?? this.settings.timeoutMs ?? defaultTimeoutMs;
    const deadline = clock.monotonic() + timeoutMs;
    let backoff: Backoff | undefined;
    const scope = new Scope(call.signal);
    const cancel = clock.timer(timeoutMs, () => scope.expire());
    let flowing = false;
    try {
      for (;;) {
        try {
          const result = await scope.race(attempt(scope));
          this.#budget = Math.min(budgetSize, this.#budget + 0.1);
          flowing = streaming;
          return result;
        } catch (cause) {
          const error = this.#explain(call, cause, scope, timeoutMs);
          backoff ??= new Backoff(retryBackoff, random);
          const delayMs = retryDelay(error, backoff);
          if (
            delayMs === undefined ||
            backoff.attempt > (call.retries ?? this.settings.retries ?? defaultRetries) ||
            this.#budget < 1 ||
            clock.monotonic() + delayMs >= deadline
          ) {
            throw error;
          }
          this.#budget--;
          await pause(clock, delayMs, scope.signal);
          if (scope.signal.aborted) throw call.signal?.aborted ? call.signal.reason : error;
        }
      }
    } finally {
      cancel();
      if (!flowing) scope.release();
    }
  }

  async #exchange(call: Call, scope: Scope): Promise<Buffer> {
    const response = await this.#send(call, scope, false);
    return wholeOf(response) ?? (await collect(response));
  }

  /** A successful answer; any other is an error. */
  async #send(call: Call, { signal, end }: Scope, streaming: boolean): Promise<HttpResponse> {
    const response = await this.settings.http.request({
      method: call.method,
      path: call.path,
      headers: this.#headers(call),
      body: call.body,
      signal,
      giveUp: end,
      streaming,
      reuse: call.reuse,
    });
    if (this.settings.onWarning && response.headers.warning !== undefined) {
      for (const text of warningsOf(response.headers.warning))
        this.settings.onWarning({ text, doing: call.doing });
    }
    if (response.status >= 200 && response.status < 300) return response;
    throw await refusal(call, response);
  }

  /** The same object as last time where nothing differs, so that layers below can tell. */
  #headers(call: Call): HttpHeaders {
    const accept = call.accept ?? "application/json";
    const contentType = call.body === undefined ? undefined : (call.contentType ?? "application/json");
    const last = this.#last;
    if (last && last.accept === accept && last["content-type"] === contentType) return last;
    const headers = { accept, ...this.settings.headers, ...(contentType && { "content-type": contentType }) };
    this.#last = headers;
    return headers;
  }

  /** Turns whatever went wrong into the one error that tells the caller what it may do next. */
  #explain(call: Call, cause: unknown, scope: Scope, timeoutMs: number): unknown {
    if (call.signal?.aborted) return call.signal.reason;
    if (cause instanceof ApiError) return cause;
    if (isUnsent(cause))
      return new ClientError(cause.code, `cannot ${call.doing}: ${cause.message}`, { cause });
    const what = scope.expired ? `no answer within ${timeoutMs} ms` : errorText(cause);
    if (isWrite(call.method)) {
      const advice = "it may or may not have happened; read the object to find out";
      return new ClientError(
        "OutcomeUnknown",
        `cannot tell the outcome of ${call.doing}: ${what}; ${advice}`,
        {
          cause,
        },
      );
    }
    if (scope.expired) return new ClientError("Timeout", `cannot ${call.doing}: ${what}`, { cause });
    const code =
      cause instanceof ClientError && typeof cause.code === "string" ? cause.code : "ConnectionLost";
    return new ClientError(code, `cannot ${call.doing}: ${what}`, { cause });
  }
}

/** The caller's signal and our own timeout as one. */
class Scope {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #reject: ((reason: unknown) => void) | undefined;
  expired = false;
  readonly #onOuter = () => this.end(this.#outer?.reason);

  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer;
    if (outer?.aborted) this.end(outer.reason);
    else outer?.addEventListener("abort", this.#onOuter, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  expire(): void {
    this.expired = true;
    this.end(new ClientError("Timeout", "no answer in time"));
  }

  /** A port that does not look at its signal must not outlast our patience. */
  race<T>(work: Promise<T>): Promise<T> {
    if (this.signal.aborted) {
      work.catch(() => {});
      return Promise.reject(this.signal.reason);
    }
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(resolve, reject);
    });
  }

  release(): void {
    this.#outer?.removeEventListener("abort", this.#onOuter);
  }

  readonly end = (reason: unknown): void => {
    this.#controller.abort(reason);
    this.#reject?.(reason);
  };
}

function isWrite(method: string): boolean {
  return method !== "GET" && method !== "HEAD" && method !== "OPTIONS";
}

/** Answers to a read that the next try may not get. */
const passing: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/**
 * Undefined when sending again could do harm or would be no use. A write that was refused without a word about
 * when to come back (an eviction, by a disruption budget) is the caller's to decide on.
 */
function retryDelay(error: unknown, backoff: Backoff): number | undefined {
  if (error instanceof ApiError) {
    const turnedAway = (error.code === 429 || error.code === 503) && error.retryAfterMs !== undefined;
    const brokenRead = !error.write && passing.has(error.code);
    if (!turnedAway && !brokenRead) return undefined;
    return Math.max(backoff.next(), error.retryAfterMs ?? 0);
  }
  if (!(error instanceof ClientError)) return undefined;
  if (error.code === "ConnectionFailed" || error.code === "ConnectionLost") return backoff.next();
  return undefined;
}

async function refusal(call: Call, response: HttpResponse): Promise<ApiError> {
  const text = (await collect(response, 1 << 20)).toString("utf8");
  const header = response.headers["retry-after"];
  return new ApiError(statusOf(text, response.status), {
    doing: call.doing,
    write: isWrite(call.method),
    retryAfterMs: retryAfterMs(typeof header === "string" ? header : header?.[0]),
  });
}

/** The texts of `299 - "text"`, of which one header may hold several. */
function warningsOf(header: string | readonly string[]): string[] {
  const lines = typeof header === "string" ? [header] : header;
  return lines.flatMap((line) =>
    [...line.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map((match) =>
      (match[1] ?? "").replace(/\\(.)/g, "$1"),
    ),
  );
}

/** Only seconds: the API server never sends the date form. */
function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d+$/.test(header.trim()) ? Number(header) * 1000 : undefined;
}

function parsed(answer: Buffer): JsonValue {
  return parseJson(answer.toString("utf8"));
}

function unreadable(call: Call, answer: Buffer, cause: unknown): ClientError {
  const begin = JSON.stringify(answer.toString("utf8", 0, 80));
  return new ClientError(
    isWrite(call.method) ? "OutcomeUnknown" : "InvalidResponse",
    `cannot ${call.doing}: the answer is not JSON, it begins with ${begin}; is the server address that of a Kubernetes API server?`,
    { cause },
  );
}
