/** Requests to an S3-compatible service: signed, with a timeout, retried while that may help. */
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { BackupError } from "../../errors.ts";
import { type Credentials, emptyHash, encodePath, encodeQuery, sha256, signed } from "./signature.ts";
import { element } from "./xml.ts";

/** How to reach a bucket. */
export interface S3Options {
  /** Such as `https://s3.eu-central-1.amazonaws.com` or `http://minio.storage.svc:9000`. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly credentials: Credentials;
  /** An authority to trust, in PEM. Default: the authorities that Node.js trusts. */
  readonly ca?: string;
  /** Attempts of one request. Default: 6. */
  readonly attempts?: number;
  /** Pause before the second attempt, doubled each time. Default: 200 ms. */
  readonly backoffMs?: number;
  /** A request without a byte for this long has failed. Default: 60 s. */
  readonly idleMs?: number;
  /** Milliseconds since the epoch, for signatures. Default: `Date.now`. */
  readonly now?: () => number;
}

/** One request to the bucket or to a key in it. */
export interface S3Request {
  readonly method: "GET" | "PUT" | "POST" | "HEAD" | "DELETE";
  /** A key in the bucket. Default: the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Status codes that are answers rather than errors, besides 2xx. */
  readonly expect?: readonly number[];
}

/** An answer whose body must be read or resumed. */
export interface S3Response {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: IncomingMessage;
  /** An earlier attempt was sent, and may have taken effect although its answer was lost. */
  readonly repeated: boolean;
}

const transient = new Set([408, 429, 500, 502, 503, 504]);

/** Signs, sends and retries requests to one bucket. */
export class S3Requests {
  readonly #options: S3Options;
  /** A backup is a thousand requests: they share connections, which keep no process alive. */
  readonly #agent: PlainAgent;

  constructor(options: S3Options) {
    this.#options = options;
    const { endpoint, ca } = options;
    this.#agent = endpoint.startsWith("https:")
      ? new SecureAgent({ keepAlive: true, ...(ca !== undefined && { ca, allowPartialTrustChain: true }) })
      : new PlainAgent({ keepAlive: true });
  }

  /** Rejects with `StoreUnavailable` when a later attempt may help, with `StoreRefused` when it cannot. */
  async send(request: S3Request): Promise<S3Response> {
    const { attempts = 6, backoffMs = 200 } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#attempt(request, attempt > 1);
      if (!(failure instanceof BackupError)) return failure;
      if (attempt >= attempts || failure.code === "StoreRefused") throw failure;
      await sleep(backoffMs * 2 ** (attempt - 1));
    }
  }

  /** The whole answer as text. */
  async text(request: S3Request): Promise<{ status: number; text: string; repeated: boolean }> {
    const response = await this.send(request);
    return { status: response.status, repeated: response.repeated, text: await textOf(response.body) };
  }

  async #attempt(request: S3Request, repeated: boolean): Promise<S3Response | BackupError> {
    const what = `${request.method} ${request.key ?? this.#options.bucket}`;
    let response: IncomingMessage;
    try {
      response = await this.#exchange(request);
    } catch (cause) {
      const { message } = cause as Error;
      return new BackupError(
        "StoreUnavailable",
        `${this.#options.endpoint} does not answer ${what}: ${message}`,
        {
          cause,
        },
      );
    }
    const status = response.statusCode ?? 0;
    if ((status >= 200 && status < 300) || request.expect?.includes(status)) {
      return { status, headers: response.headers, body: response, repeated };
    }
    const text = await textOf(response).catch(() => "");
    const reason = element(text, "Code") ?? `HTTP ${status}`;
    const message = `${this.#options.endpoint} refused ${what}: ${reason}${sentence(text)}`;
    const retry = transient.has(status) || reason === "RequestTimeout" || reason === "OperationAborted";
    return new BackupError(retry ? "StoreUnavailable" : "StoreRefused", message);
  }

  #exchange({ method, key, query = {}, headers = {}, body }: S3Request): Promise<IncomingMessage> {
    const { endpoint, region, bucket, credentials, idleMs = 60_000, now = Date.now } = this.#options;
    const url = new URL(endpoint);
    const path = encodePath(
      `${url.pathname.replace(/\/+$/, "")}/${bucket}${key === undefined ? "" : `/${key}`}`,
    );
    const bodyHash = body === undefined ? emptyHash : sha256(body);
    const unsigned = { method, host: url.host, path, query, headers, bodyHash };
    const sent = signed(unsigned, { region, credentials, nowMs: now() });
    if (body !== undefined) sent["content-length"] = String(body.length);
    const encoded = encodeQuery(query);
    const options = {
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port || (url.protocol === "https:" ? 443 : 80),
      method,
      path: encoded === "" ? path : `${path}?${encoded}`,
      headers: sent,
      agent: this.#agent,
    };
    return new Promise((resolve, reject) => {
      const request = url.protocol === "https:" ? secureRequest(options) : plainRequest(options);
      request.setTimeout(idleMs, () => request.destroy(new Error(`nothing received in ${idleMs} ms`)));
      request.once("response", resolve);
      request.once("error", reject);
      request.end(body);
    });
  }
}

async function textOf(body: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of body.setEncoding("utf8")) text += chunk;
  return text;
}

function sentence(text: string): string {
  const message = element(text, "Message");
  return message === undefined ? "" : ` (${message})`;
}
