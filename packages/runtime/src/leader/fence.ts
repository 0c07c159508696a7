/** Keeps a process that no longer leads from writing: the last gate before the wire. */
import { type Client, ClientError, createClient } from "@keelson/client";
import type { Cancel, Clock, HttpHeaders, HttpPort, HttpRequest, HttpResponse } from "@keelson/core";
import { RuntimeError } from "../errors.ts";

/** Whether this process may write now. */
export interface Fence {
  /** False from the moment at which another process may believe that it leads. */
  mayWrite(): boolean;
}

/** Where leader election says how long writing is allowed. */
export interface FenceCell {
  /** Both clocks must agree: the monotonic one may stop while a machine sleeps, the wall clock may go back. */
  allowUntil(monotonicMs: number, wallMs: number): void;
  close(): void;
}

export const openFence: Fence = { mayWrite: () => true };

/** A fence in memory that several threads may share: the one that renews writes it, the one that works reads it. */
export class SharedFence implements Fence, FenceCell {
  readonly buffer: SharedArrayBuffer;
  readonly #deadlines: Float64Array;
  readonly #clock: Pick<Clock, "now" | "monotonic">;

  constructor(clock: Pick<Clock, "now" | "monotonic">, buffer = new SharedArrayBuffer(16)) {
    this.#clock = clock;
    this.buffer = buffer;
    this.#deadlines = new Float64Array(buffer);
  }

  mayWrite(): boolean {
    const deadlines = this.#deadlines;
    return this.#clock.monotonic() < (deadlines[0] ?? 0) && this.#clock.now() < (deadlines[1] ?? 0);
  }

  allowUntil(monotonicMs: number, wallMs: number): void {
    this.#deadlines[0] = monotonicMs;
    this.#deadlines[1] = wallMs;
  }

  close(): void {
    this.allowUntil(0, 0);
  }
}

export interface FencedOptions {
  readonly fence: Fence;
  /** A write that takes longer is given up, its outcome unknown; no limit beside the client's own when absent. */
  readonly writeTimeoutMs?: number;
  /** Hears of every request and its answer; 0 when there was none. */
  readonly onRequest?: (method: string, status: number) => void;
}

/**
 * The client with a gate at its transport: every write, retries included, is refused on this side of the wire once
 * the fence is down, also one that waited for a connection while the process was frozen. Reads pass: a standby keeps its
 * caches warm with them.
 */
export function fenced(client: Client, options: FencedOptions): Client {
  const { fence, writeTimeoutMs, onRequest } = options;
  const { http, host, namespace, fieldManager, clock, random } = client;
  const mustLead = (request: HttpRequest): void => {
    if (!fence.mayWrite()) throw refused(request);
  };
  const headersOf = headersWith(client.headers);
  const upgrade = http.upgrade?.bind(http);
  const port: HttpPort = {
    request: async (request) => {
      const { method, giveUp } = request;
      let status = 0;
      let cancel: Cancel | undefined;
      try {
        const read = isRead(method);
        const check = read ? request.check : () => mustLead(request);
        if (!read) mustLead(request);
        const sent = { ...request, headers: headersOf(request), check };
        const limitMs = read ? undefined : writeTimeoutMs;
        if (limitMs !== undefined && giveUp) cancel = clock.timer(limitMs, () => giveUp(tooLate(limitMs)));
        const response =
          limitMs === undefined || giveUp
            ? await http.request(sent)
            : await limited(clock, limitMs, sent, (each) => http.request(each));
        status = response.status;
        return response;
      } finally {
        cancel?.();
        onRequest?.(method, status);
      }
    },
    ...(upgrade
      ? {
          upgrade: async (request: HttpRequest) => {
            // Whatever its method, what leaves HTTP (exec, port-forward) is there to do something.
            const check = () => mustLead(request);
            check();
            return await upgrade({ ...request, headers: headersOf(request), check });
          },
        }
      : {}),
  };
  return createClient({
    http: port,
    host,
    namespace,
    fieldManager,
    clock,
    random,
    onClose: () => client.close(),
  });
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

/** Nothing was sent, which is what the client's own word for it says. */
function refused({ method, path }: HttpRequest): ClientError {
  const message = `${method} ${path.split("?")[0]} was not sent: this process does not lead`;
  return new ClientError("ConnectionFailed", message, { cause: new RuntimeError("LeaseLost", message) });
}

/** For a request whose sender gave no way to give it up. */
async function limited(
  clock: Clock,
  timeoutMs: number,
  request: HttpRequest,
  send: (request: HttpRequest) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const controller = new AbortController();
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {});
  const abort = (reason: unknown) => {
    controller.abort(reason);
    late.reject(reason);
  };
  const onOuter = () => abort(request.signal?.reason);
  if (request.signal?.aborted) onOuter();
  else request.signal?.addEventListener("abort", onOuter, { once: true });
  const cancel = clock.timer(timeoutMs, () => abort(tooLate(timeoutMs)));
  try {
    return await Promise.race([send({ ...request, signal: controller.signal }), late.promise]);
  } finally {
    cancel();
    request.signal?.removeEventListener("abort", onOuter);
  }
}

function tooLate(timeoutMs: number): ClientError {
  const message = `no answer within the ${timeoutMs} ms that a lease leaves for a write`;
  return new ClientError("ConnectionLost", message);
}

/**
 * The new client has headers of its own; those of the old one (whom it acts as) must not be lost. Those of the last request are
 * kept, because the next ones mostly have the same.
 */
function headersWith(more: HttpHeaders): (request: HttpRequest) => HttpHeaders {
  let last: { readonly headers: HttpHeaders | undefined; readonly all: HttpHeaders } | undefined;
  return ({ headers }) => {
    if (!last || last.headers !== headers) last = { headers, all: { ...headers, ...more } };
    return last.all;
  };
}
