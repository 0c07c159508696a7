/** The API server under test, and how it is reached. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "@keelson/apiserver";
import type { FuzzRequest } from "./requests.ts";

export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

const token = "fuzz-administrator-token";
const answerMs = 60_000;

/** A server that is reached by a socket. */
export interface FuzzedServer extends AsyncDisposable {
  readonly socket: string;
  /** Why the server is gone; undefined while it runs. */
  readonly ended: string | undefined;
  /** What it wrote about faults of its own since the last time. */
  takeSaid(): string;
  residentMb(): number;
}

/** The server as a process of its own, which may crash. */
export async function startProcess(): Promise<FuzzedServer> {
  await using stack = new AsyncDisposableStack();
  const { socket, flags } = place(stack);
  const main = join(import.meta.dirname, "../../packages/apiserver/src/main.ts");
  const child = spawn(process.execPath, ["--conditions=keelson-source", main, ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said: string[] = [];
  let ended: string | undefined;
  child.stderr.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  const exit = once(child, "exit").then(([code, signal]) => {
    ended = `the server ended with ${signal ?? code}`;
  });
  stack.defer(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  await Promise.race([once(child.stdout, "data"), exit]);
  if (ended !== undefined) throw new Error(`cannot start the server: ${said.join("")}`);
  const owned = stack.move();
  return {
    socket,
    get ended() {
      return ended;
    },
    takeSaid: () => said.splice(0).join(""),
    residentMb: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function place(stack: AsyncDisposableStack): { socket: string; flags: string[] } {
  const directory = mkdtempSync(join(tmpdir(), "keelson-fuzz-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const tokenFile = join(directory, "token");
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const socket = join(directory, "s");
  const kubeconfig = join(directory, "kubeconfig");
  const flags = ["--port=0", "--socket", socket, "--token-file", tokenFile, "--kubeconfig", kubeconfig];
  return { socket, flags: [...flags, "--disable-admission-plugins", "ServiceAccount"] };
}

/** The server in this process: for tests, where a crash is seen anyway. */
export async function startHere(): Promise<FuzzedServer> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "keelson-fuzz-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const socket = join(directory, "s");
  const kubeconfig = join(directory, "kubeconfig");
  const disableAdmissionPlugins = "ServiceAccount";
  stack.use(await startApiServer({ port: 0, socket, token, kubeconfig, disableAdmissionPlugins }));
  const owned = stack.move();
  return {
    socket,
    ended: undefined,
    takeSaid: () => "",
    residentMb: () => process.memoryUsage().rss / 2 ** 20,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Sends requests of an administrator over the socket. */
export class Sender implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #socketPath: string;

  constructor({ socket }: FuzzedServer) {
    this.#socketPath = socket;
  }

  send({ method, path, headers, body }: FuzzRequest): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const outgoing = request({
        agent: this.#agent,
        socketPath: this.#socketPath,
        method,
        path,
        headers: {
          authorization: `Bearer ${token}`,
          // Node announces no body for DELETE: the server would take its bytes for the next request.
          ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
          ...headers,
        },
      });
      const limit = setTimeout(() => outgoing.destroy(new Error("no answer within a minute")), answerMs);
      outgoing.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          clearTimeout(limit);
          const type = String(response.headers["content-type"] ?? "");
          resolve({ status: response.statusCode ?? 0, type, body: Buffer.concat(chunks) });
        });
      });
      outgoing.on("error", (error) => {
        clearTimeout(limit);
        reject(error);
      });
      outgoing.end(body);
    });
  }

  async json(path: string): Promise<unknown> {
    const { status, body } = await this.send({
      method: "GET",
      path,
      headers: { accept: "application/json" },
    });
    if (status !== 200) throw new Error(`GET ${path} is answered ${status}`);
    return JSON.parse(body.toString());
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
