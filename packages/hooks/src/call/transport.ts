/** Sends one request to a hook over HTTP. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { HookError } from "../errors.ts";

/** A request to a hook, with all that is needed to send it. */
export interface HookRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  /** An answer that is larger is given up. */
  readonly maxBytes: number;
  /** Where to connect in place of what the URL says: a forwarded port. */
  readonly via?: { readonly host: string; readonly port: number };
  /** In PEM. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

/** What a hook answered. Header names are lower case. */
export interface HookAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** A way to send requests to hooks. */
export type HookTransport = (request: HookRequest) => Promise<HookAnswer>;

/** Over the network. */
export const networkTransport: HookTransport = async (request) => {
  const { url, headers, body, signal, via, tls } = request;
  const secure = url.protocol === "https:";
  const options = {
    method: "POST",
    host: via?.host ?? url.hostname,
    port: via?.port ?? (url.port === "" ? (secure ? 443 : 80) : Number(url.port)),
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, "content-length": String(Buffer.byteLength(body)) },
    signal,
    // A forwarded port is closed with its call, and a kept connection would keep it open.
    ...(via ? { agent: false as const } : {}),
    ...(secure ? { servername: url.hostname, ...tls, minVersion: "TLSv1.2" as const } : {}),
  };
  return await new Promise<HookAnswer>((resolve, reject) => {
    const sent = (secure ? httpsRequest : httpRequest)(options, (response) => {
      read(response, request.maxBytes).then(resolve, reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
};

async function read(response: IncomingMessage, maxBytes: number): Promise<HookAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      response.destroy();
      throw new HookError("BadAnswer", `the answer is larger than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const headers = Object.fromEntries(
    Object.entries(response.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : value,
    ]),
  );
  return { status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks).toString("utf8") };
}
