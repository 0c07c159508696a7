/** Requests and answers as the server handles them, whatever carries them. */
import type { Duplex } from "node:stream";
import type { HttpHeaders } from "@keelson/core";
import type { ClientCertificate } from "../contracts/authentication.ts";

export interface ServerRequest {
  readonly method: string;
  /** Path with query, as sent. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: HttpHeaders;
  /** Reads the whole body; rejects with a StatusError when it is too large or breaks off. */
  body(): Promise<Uint8Array>;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** The client asks to leave HTTP behind, and its connection can be taken over. */
  readonly canUpgrade?: boolean;
  readonly clientCertificate?: ClientCertificate;
  /** Runs once, when the answer is out or the client is gone. Absent where answers take no time to send. */
  onAnswered?(run: () => void): void;
}

export interface ServerResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: Uint8Array | string | Pieces | BodyStream | Hijack;
}

/** A body of known length that need not lie in one place: a long list is made of what is stored. */
export type Pieces = readonly Uint8Array[];

/** Takes the client's connection over; only for requests that can be upgraded. Rejections become a Status. */
export interface Hijack {
  hijack(client: HijackedClient): Promise<void>;
}

export interface HijackedClient {
  /** Sends the head of the answer; what follows is up to both ends. */
  accept(status: number, headers: Readonly<Record<string, string | string[]>>): Duplex;
  /** Answers in plain HTTP and closes. */
  refuse(status: number, body: Uint8Array): void;
}

/** A body that is written as things happen. `open` runs once, when the headers are out. */
export interface BodyStream {
  open(sink: Sink): void;
}

/** Where a stream writes. After `end`, `abort` or the client's departure, writes are ignored. */
export interface Sink {
  write(chunk: Uint8Array): void;
  /** Bytes written and not yet taken by the client: what a producer must keep bounded. */
  readonly pendingBytes: number;
  /** Resolves when the client has taken most of what was written, or is gone. */
  drained(): Promise<void>;
  end(): void;
  /** Breaks the connection off, so that the client does not take the answer for complete. */
  abort(): void;
  /** Runs once, when the sink is closed by either side. */
  onClose(run: () => void): void;
}

export function isStream(body: ServerResponse["body"]): body is BodyStream {
  return typeof body === "object" && "open" in body;
}

export function isHijack(body: ServerResponse["body"]): body is Hijack {
  return typeof body === "object" && "hijack" in body;
}

export function isPieces(body: ServerResponse["body"]): body is Pieces {
  return Array.isArray(body);
}

export function lengthOf(pieces: Pieces): number {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length;
}

/** The first value of a header. */
export function header(headers: HttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.[0];
}
