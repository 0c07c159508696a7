/** A hook server on loopback, and the way to it that keeps virtual time from running ahead of its answers. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { type JsonObject, parseJson } from "@keelson/core";
import { type HookTransport, networkTransport } from "../src/index.ts";

/** What a hook is asked. */
export interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

/** What it answers: JSON, or a status (`code`) with headers and a text. Undefined never answers. */
export type Answer = object | undefined;

/** A server whose answers a test may change. */
export interface HookServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  /** Answers by path. */
  readonly hooks: Record<string, (asked: Asked) => Answer>;
  readonly transport: HookTransport;
  /** Whether a call is under way that will be answered. */
  readonly busy: () => boolean;
}

export async function hookServer(hooks: HookServer["hooks"]): Promise<HookServer> {
  const asked: Asked[] = [];
  let underWay = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "/";
      const one = {
        path,
        headers: request.headers,
        body: parseJson(Buffer.concat(chunks).toString()) as JsonObject,
      };
      asked.push(one);
      const hook = hooks[path];
      const answer = hook ? hook(one) : { code: 404, text: "no such hook" };
      if (answer === undefined) {
        // Nobody waits for it: time may pass.
        underWay--;
        return;
      }
      const special = "code" in answer && "text" in answer;
      const { code, text, headers } = (special ? answer : { code: 200, text: JSON.stringify(answer) }) as {
        code: number;
        text: string;
        headers?: Record<string, string>;
      };
      response.writeHead(code, { "content-type": "application/json", ...headers });
      response.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const hangs = (path: string) => path.endsWith("/hang");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    hooks,
    transport: async (request) => {
      underWay++;
      try {
        return await networkTransport(request);
      } finally {
        if (!hangs(request.url.pathname)) underWay--;
      }
    },
    busy: () => underWay > 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
