/** The operator's own HTTP endpoints: is it alive, is it ready, what does it count. */
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { groupKind } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { InformerSet } from "../cache/informer-set.ts";
import type { WakeRequest } from "../controller/controller.ts";
import type { Election } from "../leader/election.ts";
import type { MetricsText } from "./metrics.ts";

/** Where health and metrics are served. */
export interface EndpointOptions {
  /** Default: 8080. 0 lets the system choose. */
  readonly port?: number;
  /** Default: all addresses. */
  readonly host?: string;
}

export interface Endpoints extends AsyncDisposable {
  readonly port: number;
}

/** Undefined when all is well, otherwise a sentence. */
export type Check = () => string | undefined;

/** When caches count as good enough. */
export interface CachesOptions {
  readonly now: () => number;
  /** None may be cut off from the server for longer. */
  readonly staleMs: number;
  /** Where caches are filled with what our own webhooks convert, nobody asks those before we are ready. */
  readonly mayBeIncomplete: boolean;
}

/**
 * Ready when every cache is complete and none has been cut off from the server for too long. A standby is ready: it can
 * take over.
 */
export function cachesReady(informers: InformerSet, options: CachesOptions): Check {
  const { now, staleMs, mayBeIncomplete } = options;
  return () => {
    for (const informer of informers.all()) {
      const { synced, interruptedSinceMs, lastError } = informer.health;
      const kind = groupKind(informer.kind);
      const met = lastError ? `: ${errorText(lastError)}` : "";
      if (!synced && !mayBeIncomplete) return `the cache of ${kind} is not complete yet${met}`;
      if (interruptedSinceMs !== undefined && now() - interruptedSinceMs > staleMs) {
        const seconds = Math.round((now() - interruptedSinceMs) / 1000);
        return `the cache of ${kind} has been cut off from the server for ${seconds} s${met}`;
      }
    }
    return undefined;
  };
}

/**
 * What can never lead is not ready, and says why: nobody would reconcile anything. A server that does not answer is
 * given as long as the caches are.
 */
export function leaseReady({ problem }: Pick<Election, "problem">, staleMs: number): string | undefined {
  return problem && (!problem.transient || problem.forMs > staleMs) ? problem.message : undefined;
}

export interface EndpointSources {
  readonly alive: Check;
  readonly ready: Check;
  readonly metrics: MetricsText | undefined;
  /** Answers `POST /wake/<controller>/<name>`. */
  readonly wake: (path: string, request: WakeRequest) => Promise<{ status: number; body: string }>;
}

const wakeLimit = 1 << 20;

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Read to its end all the same: who still sends does not hear an answer.
    if (size <= wakeLimit) chunks.push(chunk);
  }
  return size <= wakeLimit ? Buffer.concat(chunks).toString() : undefined;
}

export async function serveEndpoints(options: EndpointOptions, sources: EndpointSources): Promise<Endpoints> {
  // An import of it would load all that it can name, a WebSocket client among it: 60 ms of every start.
  const { createServer } = process.getBuiltinModule("node:http");
  const server = createServer((request, response) => {
    const path = (request.url ?? "/").split("?")[0];
    const answer = (status: number, body: string, type = "text/plain; charset=utf-8") => {
      response.writeHead(status, { "content-type": type });
      response.end(body);
    };
    const check = (problem: string | undefined) => answer(problem === undefined ? 200 : 503, problem ?? "ok");
    if (path === "/healthz") check(sources.alive());
    else if (path === "/readyz") check(sources.ready());
    else if (path === "/metrics" && sources.metrics) {
      sources.metrics.text().then(
        ({ body, contentType }) => answer(200, body, contentType),
        (error: unknown) => answer(500, String(error)),
      );
    } else if (request.method === "POST" && path?.startsWith("/wake/")) {
      bodyOf(request)
        .then((body) =>
          body === undefined
            ? { status: 413, body: `at most ${wakeLimit} bytes` }
            : sources.wake(path, { headers: request.headers, body }),
        )
        .then(
          ({ status, body }) => answer(status, body),
          (error: unknown) => answer(500, String(error)),
        );
    } else answer(404, "not found");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 8080, options.host, resolve);
  });
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
