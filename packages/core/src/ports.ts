/**
 * The ports through which everything reaches the outside world.
 *
 * Nothing in core, schema, client or runtime reads a clock, draws a random number or opens a socket by
 * itself: it is handed a port. That is what lets a whole cluster run under a virtual clock and a seed.
 */
import type { Duplex } from "node:stream";

/** Time. `now` may jump (wall clock); `monotonic` never goes back and is for durations. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds from an arbitrary start. */
  monotonic(): number;
  /** Calls `run` once after `delayMs`; cancelling twice is harmless. A real one keeps the process alive. */
  timer(delayMs: number, run: () => void): Cancel;
}

/** Takes back what was scheduled. */
export type Cancel = () => void;

/** Randomness, forked by name so that one component's draws never shift another's. */
export interface Random {
  /** A float in [0, 1). */
  next(): number;
  bytes(length: number): Uint8Array;
  uuid(): string;
  fork(name: string): Random;
}

/** Header names are lower case. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request through an {@link HttpPort}. */
export interface HttpRequest {
  readonly method: string;
  /** Path with query, as sent on the request line. */
  readonly path: string;
  readonly headers?: HttpHeaders;
  readonly body?: Uint8Array | string;
  /** Aborting ends the request and, while the body streams, the response. */
  readonly signal?: AbortSignal;
  /**
   * Aborts `signal`, and ends the wait for the answer with this reason. Given by a sender whose signal is for this
   * request alone, so that a layer below that waits for less time needs no signal of its own.
   */
  readonly giveUp?: (reason: unknown) => void;
  /** The answer may stay open and silent for long (watch, logs): no idle timeout applies. */
  readonly streaming?: boolean;
  /**
   * Called at the last moment before anything is sent, which may be long after the request was made: it waits for a
   * connection, or the machine was asleep. When it throws, nothing is sent and the request fails with that.
   */
  readonly check?: () => void;
  /** Each chunk of the answer is used only until the next is asked for: its memory may be used again. */
  readonly reuse?: boolean;
}

/** The answer to a request through an {@link HttpPort}. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** The body, chunk by chunk in order; it throws when the connection breaks, and may be read once. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** A connection that left HTTP behind: exec, attach, port-forward. */
export interface HttpUpgrade {
  /** The agreed subprotocol, empty when none was. */
  readonly protocol: string;
  readonly stream: Duplex;
}

/** One HTTP origin. The embedded API server offers the same port in process, without a socket. */
export interface HttpPort {
  request(request: HttpRequest): Promise<HttpResponse>;
  /** Asks for an upgrade (WebSocket or SPDY). Rejects when the server answers anything but 101. */
  upgrade?(request: HttpRequest): Promise<HttpUpgrade>;
}

/** How a program ended, and what it printed. */
export interface ProcessResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The process we are, and the short commands we run (credential plugins). */
export interface ProcessPort {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hostname: string;
  readonly pid: number;
  run(command: string, args: readonly string[], options?: RunOptions): Promise<ProcessResult>;
}

/** How a program is run. */
export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
  readonly timeoutMs?: number;
}

/** All ports together. */
export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly process: ProcessPort;
}
