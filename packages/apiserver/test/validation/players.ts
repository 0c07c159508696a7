/** Who plays a scenario: the server in this process, or the real one. */
import { Agent, request } from "node:https";
import type { WebhookCaller } from "../../src/contracts/webhook.ts";
import { apiServer } from "../../src/index.ts";

export interface Reply {
  readonly code: number;
  readonly body: unknown;
  readonly warnings: string;
}

export interface SendOptions {
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

export interface Player extends AsyncDisposable {
  send(method: string, path: string, body?: unknown, options?: SendOptions): Promise<Reply>;
  /** Waits until what was written is known to all parts of the server. */
  settle(): Promise<void>;
}

export const mergePatch = "application/merge-patch+json";

/** The server of this repository, as it runs beside controllers. */
export async function embeddedPlayer(
  callWebhook?: WebhookCaller,
  flags: Readonly<Record<string, string>> = {},
): Promise<Player> {
  const server = await apiServer({ flags, ...(callWebhook && { callWebhook }) });
  return {
    async send(method, path, body, { type = "application/json", headers = {} } = {}) {
      const response = await server.http.request({
        method,
        path,
        headers: {
          accept: "application/json",
          ...(body !== undefined && { "content-type": type }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      let text = "";
      for await (const chunk of response.body) text += Buffer.from(chunk).toString();
      const { warning } = response.headers;
      return {
        code: response.status,
        body: parsed(text),
        warnings: typeof warning === "string" ? warning : [...(warning ?? [])].join(", "),
      };
    },
    settle: async () => {},
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** The real server, whose parts learn of changes a moment later. */
export function realPlayer(server: string, token: string, settleMs: number): Player {
  const agent = new Agent({ keepAlive: true });
  return {
    send: (method, path, body, { type = "application/json", headers = {} } = {}) =>
      new Promise((resolve, reject) => {
        const payload = body === undefined ? "" : JSON.stringify(body);
        const outgoing = request(
          `${server}${path}`,
          {
            method,
            agent,
            rejectUnauthorized: false,
            headers: {
              authorization: `Bearer ${token}`,
              accept: "application/json",
              ...(payload && { "content-type": type, "content-length": Buffer.byteLength(payload) }),
              ...(headers as Record<string, string | string[]>),
            },
          },
          (response) => {
            const chunks: Buffer[] = [];
            response.on("data", (chunk: Buffer) => chunks.push(chunk));
            response.on("end", () =>
              resolve({
                code: response.statusCode ?? 0,
                body: parsed(Buffer.concat(chunks).toString()),
                warnings: String(response.headers.warning ?? ""),
              }),
            );
          },
        );
        // Some objects make the real server hang up: its fault, told as status 0.
        outgoing.on("error", (error: NodeJS.ErrnoException) =>
          error.code === "ECONNRESET" ? resolve({ code: 0, body: {}, warnings: "" }) : reject(error),
        );
        outgoing.end(payload);
      }),
    settle: () => new Promise((resolve) => setTimeout(resolve, settleMs)),
    async [Symbol.asyncDispose]() {
      agent.destroy();
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
