/** Provokes every error of @keelson/client. */
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { type Duplex, PassThrough } from "node:stream";
import { createServer as createTlsServer } from "node:tls";
import { type ClientErrorCode, connect, createClient, loadKubeconfig, pods } from "@keelson/client";
import { systemProcess } from "@keelson/client/internal";
import type { Clock, HttpPort, HttpResponse } from "@keelson/core";
import { systemClock } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { createAuthority, createLeaf } from "@keelson/pki";
import { inClusterConnection } from "../../../packages/client/src/kubeconfig/connection.ts";
import { type Provocations, temporary } from "../provoked.ts";

export const client: Provocations<ClientErrorCode> = {
  Timeout: () =>
    through(() => new Promise(() => {}))
      .kind(ConfigMap)
      .get(a, { timeoutMs: 1 }),
  ConnectionFailed: async () => {
    const server = await listening(createServer());
    const { port } = server.address() as AddressInfo;
    await new Promise((done) => server.close(done));
    return await get(`http://127.0.0.1:${port}`);
  },
  ServerUntrusted: async () => {
    const { certificate: cert, key } = certificates();
    await using served = await serving(createTlsServer({ cert, key }));
    return await get(`https://127.0.0.1:${served.port}`, {
      "certificate-authority-data": base64(certificates().ca),
    });
  },
  ConnectionLost: async () => {
    await using served = await serving(createServer((socket) => socket.once("data", () => socket.destroy())));
    return await get(`http://127.0.0.1:${served.port}`);
  },
  OutcomeUnknown: () =>
    through(() => new Promise(() => {}))
      .kind(ConfigMap)
      .create({ metadata: a }, { timeoutMs: 1 }),
  // The client connects again by itself: only the connection that it gives up is told why.
  StreamSilent: async () => {
    const list = answering('{"metadata":{"resourceVersion":"1"},"items":[]}');
    const silence: HttpResponse = { status: 200, headers: {}, body: { [Symbol.asyncIterator]: () => never } };
    const { promise: given, resolve: giveUp } = Promise.withResolvers<unknown>();
    const http: HttpPort["request"] = async (request) => {
      if (!request.path.includes("watch=true")) return await list(request);
      request.signal?.addEventListener("abort", () => giveUp(request.signal?.reason));
      return silence;
    };
    const stop = new AbortController();
    const reading = through(http, hastyClock()).kind(ConfigMap);
    void reading.reflect({ initial: "list", signal: stop.signal }).forEach(() => {});
    return await given.finally(() => stop.abort());
  },
  InvalidRequest: () => through(answering("{}")).kind(ConfigMap).get({ namespace: "default", name: "" }),
  InvalidResponse: () => through(answering("<html>login</html>")).kind(ConfigMap).get(a),
  KindUnknown: () => through(answering('{"resources":[]}')).discover("example.com/v1", "Widget"),
  UpgradeRefused: () => pods(through(answering("{}"))).run(a, { command: ["true"] }),
  StreamBroken: () => {
    const upgrade = async () => ({ protocol: "v5.channel.k8s.io", stream: cutOff() });
    return pods(through(answering("{}"), systemClock, upgrade)).run(a, { command: ["true"] });
  },
  KubeconfigMissing: () => loadKubeconfig({ kubeconfig: "/does/not/exist" }),
  KubeconfigMalformed: async () => loadKubeconfig({ kubeconfig: await file("clusters: [") }),
  KubeconfigInvalid: () =>
    connect({ kubeconfig: { ...kubeconfig("http://127.0.0.1:1"), "current-context": "prod" } }),
  CertificateUnreadable: () =>
    connect({
      kubeconfig: kubeconfig("https://127.0.0.1:1", { "certificate-authority": "/does/not/exist" }),
    }),
  CredentialPlugin: async () => {
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "false",
      interactiveMode: "Never",
    };
    return await get("http://127.0.0.1:1", {}, { exec });
  },
  CredentialUnreadable: () => get("http://127.0.0.1:1", {}, { tokenFile: "/does/not/exist" }),
  NotInCluster: () => inClusterConnection({ process: { ...systemProcess, env: {} }, clock: systemClock }),
};

const a = { namespace: "default", name: "a" };
const never = { next: () => new Promise<never>(() => {}) };

/** Every deadline passes at once. */
function hastyClock(): Clock {
  let skippedMs = 0;
  return {
    now: () => systemClock.now() + skippedMs,
    monotonic: () => systemClock.monotonic() + skippedMs,
    timer: (delayMs, run) =>
      systemClock.timer(0, () => {
        skippedMs += delayMs;
        run();
      }),
  };
}

function through(request: HttpPort["request"], clock = systemClock, upgrade?: HttpPort["upgrade"]) {
  return createClient({ http: { request, ...(upgrade && { upgrade }) }, clock, retries: 0 });
}

function answering(text: string): HttpPort["request"] {
  return async () => ({
    status: 200,
    headers: {},
    body: (async function* () {
      yield Buffer.from(text);
    })(),
  });
}

/** A stream whose other side has gone. */
function cutOff(): Duplex {
  const stream = new PassThrough();
  queueMicrotask(() => stream.destroy(new Error("read ECONNRESET")));
  return stream;
}

/** A GET of a ConfigMap by a kubeconfig with these settings. */
async function get(server: string, cluster: object = {}, user: object = {}): Promise<unknown> {
  const connected = await connect({ kubeconfig: kubeconfig(server, cluster, user), retries: 0 });
  try {
    return await connected.kind(ConfigMap).get(a);
  } finally {
    await connected.close();
  }
}

function kubeconfig(server: string, cluster: object = {}, user: object = {}) {
  return {
    clusters: [{ name: "here", cluster: { server, ...cluster } }],
    users: [{ name: "me", user }],
    contexts: [{ name: "here", context: { cluster: "here", user: "me" } }],
    "current-context": "here",
  };
}

async function file(content: string): Promise<string> {
  const path = join(await temporary(), "kubeconfig");
  await writeFile(path, content);
  return path;
}

async function listening<S extends Server>(server: S): Promise<S> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

async function serving(server: Server): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  await listening(server);
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

/** A server's certificate and the authority behind it, other ones each time. */
function certificates() {
  const [notBeforeMs, notAfterMs] = [Date.now() - 3_600_000, Date.now() + 3_600_000];
  const authority = createAuthority("ca", notBeforeMs, notAfterMs);
  const subject = { commonName: "server" };
  const names = ["127.0.0.1"];
  const leaf = createLeaf(authority, { subject, names, usages: ["server"], notBeforeMs, notAfterMs });
  return { ca: authority.certificate, ...leaf };
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
