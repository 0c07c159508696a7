/** An API server that is attacked over HTTPS: ours, or the real one for comparison. */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { startApiServer } from "@keelson/apiserver";
import { locateKubernetes } from "@keelson/reference/locate";

export interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Who asks: a user by name, or a bearer of a token. Default: the administrator. */
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly token?: string;
  /** Gives up after so long. Default: 30 s. */
  readonly withinMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are read freely.
  readonly body: any;
}

export class ApiTarget {
  readonly #address: URL;
  readonly #token: string;

  constructor(address: string, token: string) {
    this.#address = new URL(address);
    this.#token = token;
  }

  /** The answer; of a stream, what came until it was given up. */
  ask(path: string, asked: Asked = {}): Promise<Answer> {
    const { method = "GET", body, type = "application/json", withinMs = 30_000 } = asked;
    return new Promise((resolve, reject) => {
      const outgoing = request({
        host: this.#address.hostname,
        port: this.#address.port,
        path,
        method,
        agent: false,
        rejectUnauthorized: false,
        headers: { ...this.#identity(asked), "content-type": type, ...asked.headers },
      });
      const limit = setTimeout(() => outgoing.destroy(new Error(`no answer to ${method} ${path}`)), withinMs);
      outgoing.on("upgrade", (response, socket) => {
        clearTimeout(limit);
        socket.destroy();
        resolve({ status: response.statusCode ?? 101, text: "", body: undefined });
      });
      outgoing.on("response", (response) => {
        let text = "";
        const done = () => {
          clearTimeout(limit);
          resolve({ status: response.statusCode ?? 0, text, body: parsed(text) });
        };
        response.on("data", (chunk: Buffer) => {
          text += chunk;
        });
        response.on("end", done);
        response.on("error", done);
        // A watch that was accepted has said enough.
        if (path.includes("watch") && response.statusCode === 200) setTimeout(() => outgoing.destroy(), 200);
      });
      outgoing.on("error", (error) => {
        clearTimeout(limit);
        reject(error);
      });
      outgoing.end(
        typeof body === "string" || body instanceof Uint8Array ? body : body && JSON.stringify(body),
      );
    });
  }

  async mustCreate(path: string, body: unknown): Promise<Answer> {
    const answer = await this.ask(path, { method: "POST", body });
    if (answer.status !== 201 && answer.status !== 409)
      throw new Error(`cannot prepare ${path}: ${answer.text}`);
    return answer;
  }

  /** A connection on which anything can be sent. */
  open(): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect(
        { host: this.#address.hostname, port: Number(this.#address.port), rejectUnauthorized: false },
        () => resolve(socket),
      );
      socket.on("error", reject);
    });
  }

  get authorization(): string {
    return `Bearer ${this.#token}`;
  }

  #identity({ user, groups = [], token }: Asked): Record<string, string | string[]> {
    if (token !== undefined) return token === "" ? {} : { authorization: `Bearer ${token}` };
    const own = { authorization: this.authorization };
    if (user === undefined) return own;
    return {
      ...own,
      "impersonate-user": user,
      ...(groups.length > 0 && { "impersonate-group": [...groups] }),
    };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type Owned<T> = T & AsyncDisposable;

/** The server of this repository, in this process, as `keelson apiserver` starts it. */
export async function ours(): Promise<Owned<{ target: ApiTarget }>> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "keelson-attack-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const server = stack.use(
    await startApiServer({
      port: 0,
      dataDir: join(directory, "data"),
      disableAdmissionPlugins: "ServiceAccount",
    }),
  );
  const owned = stack.move();
  return {
    target: new ApiTarget(server.address, server.token),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** kube-apiserver, where it is built. */
export async function real(): Promise<Owned<{ target: ApiTarget }> | undefined> {
  if ("missing" in locateKubernetes()) return undefined;
  const { startControlPlane } = await import("@keelson/reference/control-plane");
  const plane = await startControlPlane({
    flags: {
      "kube-apiserver": [
        "--enable-admission-plugins=NodeRestriction",
        "--disable-admission-plugins=ServiceAccount",
      ],
    },
  });
  return {
    target: new ApiTarget(plane.server, plane.token),
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
}
