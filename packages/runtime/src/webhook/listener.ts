/** Serves webhooks over TLS. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "@keelson/core";
import type { WebhookAnswer } from "./answer.ts";
import type { Certificates } from "./certificates.ts";

/** What answers: a path with its query and a body go in. */
export type Answer = (target: string, body: string, hangUp?: AbortSignal) => Promise<WebhookAnswer>;

/** A place where webhooks are asked. */
export interface WebhookListener {
  readonly port: number;
  /** Connections from now on see this certificate; those that are open stay. */
  load(certificates: Certificates): void;
  /** Takes no new connections and lets requests under way end, but no longer than this. */
  close(withinMs: number): Promise<void>;
}

/** Opens a place where webhooks are asked. Nobody is believed there before the first `load`. */
export type Listen = (answer: Answer) => Promise<WebhookListener>;

export interface ListenOptions {
  readonly port: number;
  readonly host?: string;
  readonly clock: Clock;
}

/** Above any review that a server sends: an object twice, or a page of a list to convert. */
const bodyLimit = 64 * 1024 * 1024;

/**
 * API servers keep an idle connection for 90 s. Closed here before that, it may be closed just when one sends a request on
 * it: a POST that is not sent again, and so a write of someone's that fails.
 */
const idleMs = 120_000;

/** By HTTPS, on a port of this process. */
export function httpsListen(options: ListenOptions): Listen {
  return async (answer) => {
    const { createServer } = await import("node:https");
    const { createSecureContext } = await import("node:tls");
    let closing = false;
    const server = createServer({ minVersion: "TLSv1.2" }, (request, response) => {
      // A server that keeps its connection would send its next request to a process that is ending.
      if (closing) response.setHeader("connection", "close");
      void respond(request, response, answer);
    });
    server.keepAliveTimeout = idleMs;
    // A client that knows only an old authority, or a scanner: nothing that an operator must look at.
    server.on("tlsClientError", () => {});
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(options.port, options.host, resolve);
    });
    return {
      port: (server.address() as AddressInfo).port,
      load: (certificates) => {
        const pair = { cert: certificates["tls.crt"], key: certificates["tls.key"] };
        // Refused here, with a reason, and not at the first handshake.
        createSecureContext(pair);
        server.setSecureContext({ ...pair, minVersion: "TLSv1.2" });
      },
      close: async (withinMs) => {
        closing = true;
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeIdleConnections();
        const cancel = options.clock.timer(withinMs, () => server.closeAllConnections());
        await closed;
        cancel();
      },
    };
  };
}

async function respond(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
  const send = (status: number, body: string, type = "text/plain; charset=utf-8") => {
    response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
    response.end(body);
  };
  if (request.method !== "POST") return send(405, "webhooks are asked by POST");
  const hangUp = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) hangUp.abort(new Error("the server has hung up"));
  });
  try {
    const body = await bodyOf(request);
    if (body === undefined) return send(413, `a review has at most ${bodyLimit} bytes`);
    const { status, body: text } = await answer(request.url ?? "/", body, hangUp.signal);
    send(status, text, status === 200 ? "application/json" : undefined);
  } catch (error) {
    if (!response.headersSent) send(500, String(error));
  }
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Read to its end all the same: who still sends does not hear an answer.
    if (size <= bodyLimit) chunks.push(chunk);
  }
  return size <= bodyLimit ? Buffer.concat(chunks).toString() : undefined;
}
