/** A server in this process, driven through its HTTP port, with time that the test moves. */
import type { Cancel, Clock, HttpPort, JsonObject, Random } from "@keelson/core";
import { type ApiServer, type ApiServerOptions, apiServer } from "../src/index.ts";

/** Time is frozen until it is moved. */
export class ManualClock implements Clock {
  #nowMs = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<{ atMs: number; run: () => void }>();

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  timer(delayMs: number, run: () => void): Cancel {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#nowMs + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ atMs }) => atMs <= end).sort((a, b) => a.atMs - b.atMs)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#nowMs = due.atMs;
      due.run();
      await settle();
    }
    this.#nowMs = end;
    await settle();
  }
}

/** The same draws in every run. */
export class CountingRandom implements Random {
  #state: number;

  constructor(seed = 1) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return this.#state / 2 ** 32;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(this.next() * 256));
  }

  uuid(): string {
    const hex = Buffer.from(this.bytes(16)).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  fork(): Random {
    return this;
  }
}

export async function settle(): Promise<void> {
  for (let i = 0; i < 30; i++) await Promise.resolve();
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: answers are read freely in tests.
  readonly body: any;
  readonly text: string;
}

export interface SendOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Server implements AsyncDisposable {
  readonly api: ApiServer;
  readonly clock: ManualClock;
  readonly #port: HttpPort;

  private constructor(api: ApiServer, clock: ManualClock) {
    this.api = api;
    this.clock = clock;
    this.#port = api.http;
  }

  static async start(options: ApiServerOptions = {}): Promise<Server> {
    const clock = new ManualClock();
    return new Server(await apiServer({ clock, random: new CountingRandom(), ...options }), clock);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.api.close();
  }

  async send(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Answer> {
    const query = new URLSearchParams(options.query).toString();
    const response = await this.#port.request({
      method,
      path: query ? `${path}?${query}` : path,
      headers: {
        ...(body !== undefined && { "content-type": options.type ?? "application/json" }),
        ...options.headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    let text = "";
    for await (const chunk of response.body) text += Buffer.from(chunk).toString();
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      value = undefined;
    }
    return { status: response.status, headers: response.headers, body: value, text };
  }

  get(path: string, query?: Readonly<Record<string, string>>): Promise<Answer> {
    return this.send("GET", path, undefined, query ? { query } : {});
  }

  post(path: string, body: unknown, options?: SendOptions): Promise<Answer> {
    return this.send("POST", path, body, options);
  }

  put(path: string, body: unknown, options?: SendOptions): Promise<Answer> {
    return this.send("PUT", path, body, options);
  }

  merge(path: string, body: unknown, options: SendOptions = {}): Promise<Answer> {
    return this.send("PATCH", path, body, { type: "application/merge-patch+json", ...options });
  }

  apply(path: string, body: unknown, manager: string, query: Record<string, string> = {}): Promise<Answer> {
    const options = { type: "application/apply-patch+yaml", query: { fieldManager: manager, ...query } };
    return this.send("PATCH", path, body, options);
  }

  del(path: string, query?: Readonly<Record<string, string>>): Promise<Answer> {
    return this.send("DELETE", path, undefined, query ? { query } : {});
  }

  async watch(path: string, query: Readonly<Record<string, string>> = {}): Promise<Watching> {
    const abort = new AbortController();
    const text = new URLSearchParams({ watch: "true", ...query }).toString();
    const response = await this.#port.request({
      method: "GET",
      path: `${path}?${text}`,
      signal: abort.signal,
      streaming: true,
    });
    return new Watching(response.status, response.body, abort);
  }
}

interface WatchEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: events are read freely in tests.
  readonly object: any;
}

export class Watching {
  readonly status: number;
  readonly events: WatchEvent[] = [];
  readonly done: Promise<void>;
  ended = false;
  readonly #abort: AbortController;

  constructor(status: number, body: AsyncIterable<Uint8Array>, abort: AbortController) {
    this.status = status;
    this.#abort = abort;
    this.done = this.#read(body);
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    let rest = "";
    try {
      for await (const chunk of body) {
        rest += Buffer.from(chunk).toString();
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.events.push(JSON.parse(line) as WatchEvent);
      }
    } catch {
      // Aborted by the test.
    }
    this.ended = true;
  }

  /** `type name` of each event so far. */
  get seen(): string[] {
    return this.events.map(({ type, object }) => `${type} ${object.metadata?.name ?? ""}`.trim());
  }

  stop(): void {
    this.#abort.abort();
  }
}

export const configMaps = "/api/v1/namespaces/default/configmaps";

export const configMap = (
  name: string,
  data: Record<string, string> = {},
  metadata: JsonObject = {},
): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});
