/**
 * A server that knows one kind and answers from prepared bytes, so that what is measured is the client: a list (whole
 * or by pages), a watch with or without the initial state, and live events on demand. Prints its port, and the one on
 * which it is asked for events, when it listens.
 */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { serveControl } from "./sdk-control.ts";
import { group, itemJson, kind, resource } from "./sdk-objects.ts";

const [directory = "", count = "0"] = process.argv.slice(2);
const objects = Number(count);
/** Items in one piece of a stream. */
const PIECE = 500;
const collection = `/apis/${group}/v1/${resource}`;
const listVersion = objects + 1;
const items = Array.from({ length: objects }, (_, index) => itemJson(index, index + 1));
const pieces = new Map<string, Buffer>();
const watchers = new Set<ServerResponse>();
let version = listVersion;

const server = createServer(
  { key: readFileSync(join(directory, "tls.key")), cert: readFileSync(join(directory, "tls.crt")) },
  (request, response) => {
    answer(request, response).catch((error) => {
      process.stderr.write(`${String(error)}\n`);
      response.destroy();
    });
  },
);
const control = await serveControl((index) => {
  const item = itemJson((index * 7919) % objects, ++version, process.hrtime.bigint());
  for (const watcher of watchers) watcher.write(`{"type":"MODIFIED","object":${item}}\n`);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(`${typeof address === "object" ? address?.port : ""} ${control}`);
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "https://localhost");
  const query = url.searchParams;
  response.setHeader("content-type", "application/json");
  if (url.pathname === "/api")
    return end(response, JSON.stringify({ kind: "APIVersions", versions: ["v1"] }));
  if (url.pathname === "/apis") return end(response, groups());
  if (url.pathname === `/apis/${group}/v1`) return end(response, resources());
  if (url.pathname !== collection) {
    response.statusCode = 404;
    return end(response, JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code: 404 }));
  }
  if (query.get("watch") === "true" || query.get("watch") === "1") return await watch(query, response);
  return await list(query, response);
}

async function list(query: URLSearchParams, response: ServerResponse): Promise<void> {
  const from = Number(query.get("continue") ?? 0);
  const limit = Number(query.get("limit") ?? 0) || objects;
  const to = Math.min(objects, from + limit);
  const more = to < objects ? `"continue":"${to}",` : "";
  await write(
    response,
    `{"apiVersion":"${group}/v1","items":[`,
    ...slices(from, to, (item, index) => (index === from ? item : `,${item}`)),
    `],"kind":"${kind}List","metadata":{${more}"resourceVersion":"${listVersion}"}}\n`,
  );
  response.end();
}

/** An API server flushes each event, so each is a chunk of the body; we write many such chunks at once. */
async function watch(query: URLSearchParams, response: ServerResponse): Promise<void> {
  response.flushHeaders();
  const { socket } = response;
  if (!socket) return;
  if (query.get("sendInitialEvents") === "true") {
    const metadata = `{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"${listVersion}"}`;
    await write(
      socket,
      ...slices(0, objects, (item) => chunk(`{"type":"ADDED","object":${item}}\n`)),
      chunk(
        `{"type":"BOOKMARK","object":{"apiVersion":"${group}/v1","kind":"${kind}","metadata":${metadata}}}\n`,
      ),
    );
  }
  watchers.add(response);
  response.on("close", () => watchers.delete(response));
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function* slices(from: number, to: number, wrap: (item: string, index: number) => string): Generator<Buffer> {
  for (let start = from; start < to; start += PIECE) {
    const stop = Math.min(to, start + PIECE);
    // Clients ask for the same again in each round.
    const id = `${start}-${stop}-${wrap("", start)}`;
    let piece = pieces.get(id);
    if (!piece) {
      piece = Buffer.from(
        items
          .slice(start, stop)
          .map((item, offset) => wrap(item, start + offset))
          .join(""),
      );
      pieces.set(id, piece);
    }
    yield piece;
  }
}

async function write(to: Writable, ...parts: (string | Buffer)[]): Promise<void> {
  for (const part of parts) {
    if (to.destroyed) return;
    if (!to.write(part)) await drained(to);
  }
}

function drained(to: Writable): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      to.off("drain", settle).off("close", settle);
      resolve();
    };
    to.on("drain", settle).on("close", settle);
  });
}

function end(response: ServerResponse, text: string): void {
  response.end(text);
}

function groups(): string {
  const served = { groupVersion: `${group}/v1`, version: "v1" };
  return JSON.stringify({
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: [{ name: group, versions: [served], preferredVersion: served }],
  });
}

function resources(): string {
  const verbs = ["get", "list", "watch"];
  return JSON.stringify({
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: `${group}/v1`,
    resources: [{ name: resource, singularName: "item", namespaced: true, kind, verbs }],
  });
}
