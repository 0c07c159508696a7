/**
 * The wire of one manager: everything it sends passes here, is counted, can be disturbed, and stops for ever when the
 * manager dies.
 */
import { ClientError } from "@keelson/client";
import type { HttpPort, HttpRequest, HttpResponse, JsonObject } from "@keelson/core";
import type { Faults } from "./faults.ts";
import type { RoleGate } from "./permissions.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** A request as faults and assertions see it. */
export interface ObservedRequest {
  readonly manager: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly write: boolean;
  readonly watch: boolean;
  /** The plural name in the path: `deployments`. */
  readonly resource: string;
  readonly body?: string;
  /** Milliseconds of virtual time since the start. */
  readonly atMs: number;
  /** Counts the manager's writes from 1, leases left out; 0 for anything else. */
  readonly index: number;
}

export interface Crash {
  readonly index: number;
  readonly when: "before" | "after";
}

export interface ManagerPortOptions {
  readonly name: string;
  readonly http: HttpPort;
  readonly clock: VirtualClock;
  readonly faults: Faults;
  readonly role: RoleGate;
  readonly onRequest: (request: ObservedRequest) => void;
  /** The write at which the manager dies, counted over all managers of the cluster. */
  readonly crashAt: () => Crash | undefined;
  readonly nextIndex: () => number;
  readonly onCrash: () => void;
}

/** A promise that a dead process waits for. */
function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

export class ManagerPort implements HttpPort {
  readonly #options: ManagerPortOptions;
  readonly #streams = new Set<Stream>();
  #dead = false;
  #inFlight = 0;

  constructor(options: ManagerPortOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#dead ? 0 : this.#inFlight;
  }

  /** From here on nothing that the manager asked for is ever answered, and nothing it sends arrives. */
  die(): void {
    this.#dead = true;
    for (const stream of this.#streams) stream.die();
  }

  get streams(): Iterable<Stream> {
    return this.#streams;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    if (this.#dead) return await never();
    this.#inFlight++;
    try {
      const response = await this.#exchange(request);
      return this.#dead ? await never() : response;
    } catch (error) {
      if (this.#dead) return await never();
      throw error;
    } finally {
      this.#inFlight--;
    }
  }

  async #exchange(request: HttpRequest): Promise<HttpResponse> {
    const { name, http, clock, faults, role, onRequest, crashAt, onCrash } = this.#options;
    const observed = this.#observe(request);
    onRequest(observed);
    clock.touch();
    const forbidden = role.refusal(request, name);
    if (forbidden !== undefined) return refusal(403, "Forbidden", forbidden, undefined);
    const crash = observed.index > 0 ? crashAt() : undefined;
    const hit = crash?.index === observed.index ? crash : undefined;
    if (hit?.when === "before") {
      onCrash();
      return await never();
    }
    const fault = faults.draw(observed);
    if (fault) {
      const answer = await this.#disturbed(request, fault);
      if (answer) return answer;
    }
    const response = await http.request(request);
    clock.touch();
    if (hit) {
      onCrash();
      return await never();
    }
    return observed.watch ? this.#stream(request, response, observed) : await whole(response);
  }

  async #disturbed(
    request: HttpRequest,
    fault: NonNullable<ReturnType<Faults["draw"]>>,
  ): Promise<HttpResponse | undefined> {
    const { http, clock } = this.#options;
    const rest = <T>(work: Promise<T>): Promise<T> => {
      // Waiting for time to pass is not being busy: the clock must be free to move.
      this.#inFlight--;
      return work.finally(() => {
        this.#inFlight++;
      });
    };
    switch (fault.type) {
      case "answer":
        return refusal(fault.status, fault.reason, fault.message, fault.retryAfterSeconds);
      case "refuse":
        throw new ClientError("ConnectionFailed", "connect ECONNREFUSED (injected)");
      case "reset":
        throw new ClientError("ConnectionLost", "socket hang up before the request was read (injected)");
      case "lose-answer":
        await http.request(request);
        clock.touch();
        throw new ClientError(
          "ConnectionLost",
          "socket hang up after the request was carried out (injected)",
        );
      case "timeout-after-commit":
        await http.request(request);
        clock.touch();
        return await rest(untilAborted(request.signal));
      case "silence":
        return await rest(untilAborted(request.signal));
      case "delay":
        await rest(new Promise<void>((resolve) => clock.timer(fault.ms, resolve)));
        return undefined;
    }
  }

  #observe(request: HttpRequest): ObservedRequest {
    const { name, clock, nextIndex } = this.#options;
    const [path = "", query = ""] = request.path.split("?");
    const parameters = new URLSearchParams(query);
    const write = request.method !== "GET" && request.method !== "HEAD" && !parameters.has("dryRun");
    const resource = resourceOf(path);
    const counted = write && resource !== "leases";
    return {
      manager: name,
      method: request.method,
      path,
      query: parameters,
      write,
      watch: parameters.get("watch") === "true",
      resource,
      ...(request.body === undefined ? {} : { body: textOf(request.body) }),
      atMs: clock.monotonic(),
      index: counted ? nextIndex() : 0,
    };
  }

  #stream(request: HttpRequest, response: HttpResponse, observed: ObservedRequest): HttpResponse {
    const { clock, faults } = this.#options;
    const stream = new Stream(response.body, observed, clock, () => faults.isHeld(observed));
    request.signal?.addEventListener("abort", () => stream.break(), { once: true });
    this.#streams.add(stream);
    stream.onEnd = () => this.#streams.delete(stream);
    return { ...response, body: stream };
  }
}

/** A watch's body: in order always, but it can be held back, broken off, or fall silent. */
export class Stream implements AsyncIterable<Uint8Array> {
  readonly observed: ObservedRequest;
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #clock: VirtualClock;
  readonly #held: () => boolean;
  readonly #broken = Promise.withResolvers<"broken" | "ended">();
  #wake: (() => void) | undefined;
  #silent = false;
  #dead = false;
  onEnd: () => void = () => {};

  constructor(
    source: AsyncIterable<Uint8Array>,
    observed: ObservedRequest,
    clock: VirtualClock,
    held: () => boolean,
  ) {
    this.observed = observed;
    this.#source = source[Symbol.asyncIterator]();
    this.#clock = clock;
    this.#held = held;
  }

  /** The connection breaks. */
  break(): void {
    this.#broken.resolve("broken");
  }

  /** The server ends the watch in good order, as it does every few minutes. */
  end(): void {
    this.#broken.resolve("ended");
  }

  /** Half-open: the connection stands and nothing comes any more. */
  silence(): void {
    this.#silent = true;
  }

  /** Looks again whether it is held back. */
  release(): void {
    this.#wake?.();
  }

  die(): void {
    this.#dead = true;
    void this.#source.return?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        const next = await Promise.race([this.#source.next(), this.#broken.promise]);
        if (this.#dead) await never();
        if (next === "ended") return;
        if (next === "broken") throw new ClientError("ConnectionLost", "the connection was reset (injected)");
        if (next.done) return;
        while (this.#held() || this.#silent) {
          const end = await Promise.race([
            new Promise<"woken">((resolve) => {
              this.#wake = () => resolve("woken");
            }),
            this.#broken.promise,
          ]);
          if (this.#dead) await never();
          if (end === "ended") return;
          if (end === "broken")
            throw new ClientError("ConnectionLost", "the connection was reset (injected)");
        }
        this.#clock.touch();
        yield next.value;
      }
    } finally {
      this.onEnd();
      void this.#source.return?.();
    }
  }
}

async function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return await new Promise<never>((_resolve, reject) => {
    const fail = () => reject(signal?.reason ?? new ClientError("ConnectionLost", "aborted"));
    if (signal?.aborted) fail();
    else signal?.addEventListener("abort", fail, { once: true });
  });
}

/** Reads the body to its end, so that a crash never leaves half an answer. */
async function whole(response: HttpResponse): Promise<HttpResponse> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return {
    ...response,
    body: (async function* () {
      yield* chunks;
    })(),
  };
}

function refusal(
  status: number,
  reason: string,
  message: string | undefined,
  retryAfterSeconds: number | undefined,
): HttpResponse {
  const body: JsonObject = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: message ?? `${reason} (injected)`,
    reason,
    code: status,
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  };
  return {
    status,
    headers: {
      "content-type": "application/json",
      ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
    },
    body: (async function* () {
      yield Buffer.from(JSON.stringify(body));
    })(),
  };
}

/** `/apis/apps/v1/namespaces/default/deployments/web` → `deployments`. */
function resourceOf(path: string): string {
  const parts = path.split("/").filter(Boolean);
  const rest = parts[0] === "api" ? parts.slice(2) : parts.slice(3);
  const namespaced = rest[0] === "namespaces" && rest.length > 2;
  return (namespaced ? rest[2] : rest[0]) ?? "";
}

function textOf(body: Uint8Array | string): string {
  return typeof body === "string" ? body : Buffer.from(body).toString("utf8");
}
