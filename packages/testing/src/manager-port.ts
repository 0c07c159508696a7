/**
 * The wire of one manager: everything it sends passes here, is counted, can be disturbed, and stops for ever when the
 * manager dies.
 */
import { ClientError } from "@keelson/client";
import type { HttpPort, HttpRequest, HttpResponse, JsonObject } from "@keelson/core";
import type { Faults } from "./faults.ts";
import { type ObservedRequest, observe } from "./observed-request.ts";
import type { RoleGate } from "./permissions.ts";
import type { ProcessLife } from "./process-life.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import { never, WatchStream } from "./watch-stream.ts";

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
  readonly life: ProcessLife;
  readonly onRequest: (request: ObservedRequest) => void;
  /** The write at which the manager dies, counted over all managers of the cluster. */
  readonly crashAt: () => Crash | undefined;
  readonly nextIndex: () => number;
  readonly onCrash: () => void;
}

export class ManagerPort implements HttpPort {
  readonly #options: ManagerPortOptions;
  readonly #streams = new Set<WatchStream>();
  #dead = false;
  #inFlight = 0;
  /** Requests that are never answered, and when they were sent. */
  readonly #silentSince = new Map<HttpRequest, number>();

  constructor(options: ManagerPortOptions) {
    this.#options = options;
  }

  /** Waiting for time to pass is not being busy: the clock must be free to move. */
  #rest<T>(work: Promise<T>): Promise<T> {
    this.#inFlight--;
    return work.finally(() => {
      this.#inFlight++;
    });
  }

  async #unanswered(request: HttpRequest): Promise<never> {
    this.#silentSince.set(request, this.#options.clock.monotonic());
    try {
      return await this.#rest(untilAborted(request.signal));
    } finally {
      this.#silentSince.delete(request);
    }
  }

  /** Since when requests have been without an answer that will never come, by the virtual clock. */
  get silentSinceMs(): readonly number[] {
    return this.#dead ? [] : [...this.#silentSince.values()];
  }

  get inFlight(): number {
    return this.#dead ? 0 : this.#inFlight;
  }

  /** From here on nothing that the manager asked for is ever answered, and nothing it sends arrives. */
  die(): void {
    this.#dead = true;
    for (const stream of this.#streams) stream.die();
  }

  get streams(): Iterable<WatchStream> {
    return this.#streams;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    if (this.#dead) return await never();
    this.#inFlight++;
    try {
      if (this.#options.life.paused) await this.#rest(this.#options.life.running());
      const response = await this.#exchange(request);
      return this.#dead ? await never() : await this.#received(response);
    } catch (error) {
      if (this.#dead) return await never();
      if (this.#options.life.paused) await this.#rest(this.#options.life.running());
      throw error;
    } finally {
      this.#inFlight--;
    }
  }

  /** A process that is stopped finds its answer when it is continued. */
  async #received(response: HttpResponse): Promise<HttpResponse> {
    const { life } = this.#options;
    if (life.paused) await this.#rest(life.running());
    return response;
  }

  async #exchange(request: HttpRequest): Promise<HttpResponse> {
    const { name, http, clock, faults, role, onRequest, crashAt, nextIndex, onCrash } = this.#options;
    const observed = observe(request, { manager: name, atMs: clock.monotonic(), nextIndex });
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
        return await this.#unanswered(request);
      case "silence":
        return await this.#unanswered(request);
      case "delay":
        await this.#rest(new Promise<void>((resolve) => clock.timer(fault.ms, resolve)));
        return undefined;
    }
  }

  #stream(request: HttpRequest, response: HttpResponse, observed: ObservedRequest): HttpResponse {
    const { clock, faults, life } = this.#options;
    const stream = new WatchStream(
      response.body,
      observed,
      clock,
      () => life.paused || faults.isHeld(observed),
    );
    request.signal?.addEventListener("abort", () => stream.break(), { once: true });
    this.#streams.add(stream);
    stream.onEnd = () => this.#streams.delete(stream);
    return { ...response, body: stream };
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
