/** Calls one hook: address, credentials, deadline, remembered answers, and what of an answer is none. */
import { type Clock, type JsonObject, type ObjectRef, parseJson } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { Connection } from "@keelson/runtime";
import type { EndpointConfig, Hook } from "../api/webhook.ts";
import { HookError } from "../errors.ts";
import { endpointOf, serviceOf, timeoutOf, urlOf } from "./address.ts";
import {
  type Credentials,
  checkEndpoint,
  credentialsOf,
  namedObjects,
  type ReadObject,
} from "./credentials.ts";
import { duplicateKey } from "./duplicate-key.ts";
import { type HookAnswer, type HookTransport, networkTransport } from "./transport.ts";

/** How hooks are reached. */
export interface CallOptions {
  /** Default: over the network. */
  readonly transport?: HookTransport;
  /**
   * How a host of cluster DNS (`name.namespace`) is reached. `dns`: as it is. `forward`: by a forwarded port, which
   * works from outside the cluster. Default: `dns` inside a cluster, `forward` elsewhere.
   */
  readonly services?: "dns" | "forward";
  /** The largest answer that is read. Default: 16 MiB. */
  readonly maxAnswerBytes?: number;
}

/** What a call needs of the reconcile that makes it. */
export interface CallScope {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly read: ReadObject;
  connect(service: ObjectRef, port: number): Promise<Connection>;
}

interface Remembered {
  readonly etag: string;
  readonly body: string;
  readonly untilMs: number;
}

const defaultMaxBytes = 16 * 1024 * 1024;
/** Secrets are read again after this long, so that a renewed one is used. */
const credentialsMs = 60_000;
const mostRemembered = 10_000;
const shownBytes = 300;

/** One hook of one definition. Nothing of it is lost with the process but remembered answers. */
export class HookClient {
  readonly version: "v1" | "v2";
  readonly #what: string;
  readonly #url: URL;
  readonly #timeoutMs: number;
  readonly #strict: boolean;
  readonly #etag: { readonly forMs: number } | undefined;
  readonly #endpoint: Partial<Omit<EndpointConfig, "host">>;
  readonly #options: CallOptions;
  readonly #answers = new Map<string, Remembered>();
  #credentials: { readonly value: Credentials; readonly untilMs: number } | undefined;

  /** `what` names the hook in errors: `the sync hook of CompositeController cats`. */
  constructor(hook: Hook, what: string, configs: readonly EndpointConfig[], options: CallOptions) {
    const { webhook } = hook;
    if (!webhook) throw new HookError("InvalidDefinition", `${what} has no webhook`);
    this.version = hook.version ?? "v1";
    this.#what = what;
    this.#url = urlOf(webhook, what);
    this.#timeoutMs = timeoutOf(webhook, what);
    this.#strict =
      (webhook.responseUnMarshallMode ?? (this.version === "v2" ? "strict" : "loose")) === "strict";
    const { enabled, cacheTimeoutSeconds } = webhook.etag ?? {};
    this.#etag = enabled
      ? { forMs: cacheTimeoutSeconds ? cacheTimeoutSeconds * 1_000 : Number.POSITIVE_INFINITY }
      : undefined;
    this.#endpoint = endpointOf(webhook, this.#url, configs);
    checkEndpoint(this.#endpoint, what);
    this.#options = { ...options, services: options.services ?? defaultServices() };
  }

  get what(): string {
    return this.#what;
  }

  get strict(): boolean {
    return this.#strict;
  }

  /** Objects that the role must allow to read, by name. */
  get reads(): ReturnType<typeof namedObjects> {
    return namedObjects(this.#endpoint);
  }

  /** Whether a Service is asked for, to reach it by a forwarded port. */
  get forwards(): boolean {
    return this.#options.services === "forward" && serviceOf(this.#url) !== undefined;
  }

  /** The answer as a JSON object. `about` names what the call is about, for remembered answers. */
  async call(body: JsonObject, about: string, scope: CallScope): Promise<JsonObject> {
    const text = JSON.stringify(body);
    const now = scope.clock.monotonic();
    const known = this.#etag ? this.#answers.get(about) : undefined;
    const remembered = known && known.untilMs > now ? known : undefined;
    const answer = await this.#send(text, remembered?.etag, scope);
    if (remembered && (answer.status === 304 || answer.status === 412)) return this.#decode(remembered.body);
    if (answer.status === 429) throw this.#busy(answer, scope.clock.now());
    if (answer.status !== 200) {
      throw new HookError(
        "HookFailed",
        `${this.#what} answered with ${answer.status}: ${shown(answer.body)}`,
      );
    }
    const decoded = this.#decode(answer.body);
    const { etag } = answer.headers;
    if (this.#etag && etag !== undefined) {
      if (this.#answers.size >= mostRemembered) this.#answers.clear();
      this.#answers.set(about, { etag, body: answer.body, untilMs: now + this.#etag.forMs });
    }
    return decoded;
  }

  /** What was remembered of an object that is gone. */
  forget(about: string): void {
    this.#answers.delete(about);
  }

  async #send(body: string, etag: string | undefined, scope: CallScope): Promise<HookAnswer> {
    const { clock } = scope;
    const controller = new AbortController();
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => {});
    const end = (error: unknown) => {
      controller.abort(error);
      late.reject(error);
    };
    const cancel = clock.timer(this.#timeoutMs, () =>
      end(new HookError("HookTimeout", `${this.#what} did not answer within ${this.#timeoutMs / 1_000} s`)),
    );
    const onAbort = () => end(scope.signal.reason);
    scope.signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([this.#request(body, etag, scope, controller.signal), late.promise]);
    } catch (error) {
      if (error instanceof HookError || scope.signal.aborted) throw error;
      throw new HookError(
        "HookUnreachable",
        `${this.#what} cannot be reached at ${this.#url.origin}: ${errorText(error)}`,
        { cause: error },
      );
    } finally {
      cancel();
      scope.signal.removeEventListener("abort", onAbort);
    }
  }

  async #request(
    body: string,
    etag: string | undefined,
    scope: CallScope,
    signal: AbortSignal,
  ): Promise<HookAnswer> {
    const { transport = networkTransport, maxAnswerBytes = defaultMaxBytes } = this.#options;
    const { authorization, tls } = await this.#currentCredentials(scope);
    const service = this.forwards ? serviceOf(this.#url) : undefined;
    const via = service ? await scope.connect(service, service.port) : undefined;
    try {
      return await transport({
        url: this.#url,
        headers: {
          "content-type": "application/json",
          accept: "application/json",
          ...(authorization === undefined ? {} : { authorization }),
          ...(etag === undefined ? {} : { "if-none-match": etag }),
        },
        body,
        signal,
        maxBytes: maxAnswerBytes,
        ...(via && { via }),
        ...(tls && { tls }),
      });
    } finally {
      await via?.[Symbol.asyncDispose]();
    }
  }

  async #currentCredentials({ clock, read }: CallScope): Promise<Credentials> {
    const now = clock.monotonic();
    if (this.#credentials && this.#credentials.untilMs > now) return this.#credentials.value;
    const value = await credentialsOf(this.#endpoint, read);
    this.#credentials = { value, untilMs: now + credentialsMs };
    return value;
  }

  #decode(text: string): JsonObject {
    let value: unknown;
    try {
      value = parseJson(text);
    } catch (cause) {
      throw new HookError("BadAnswer", `${this.#what} answered with no JSON: ${shown(text)}`, { cause });
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new HookError("BadAnswer", `${this.#what} answered with no JSON object: ${shown(text)}`);
    }
    const twice = this.#strict ? duplicateKey(text) : undefined;
    if (twice !== undefined) {
      throw new HookError(
        "BadAnswer",
        `${this.#what} answered with the field ${JSON.stringify(twice)} twice`,
      );
    }
    return value as JsonObject;
  }

  #busy({ headers }: HookAnswer, nowMs: number): HookError {
    const wish = headers["retry-after"] ?? "";
    const seconds = /^\d+$/.test(wish.trim()) ? Number(wish) : (Date.parse(wish) - nowMs) / 1_000;
    const retryAfterMs = Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds) * 1_000) : 0;
    return new HookError("HookBusy", `${this.#what} asks to be called later`, { retryAfterMs });
  }
}

/** Cluster DNS answers inside a cluster alone. */
function defaultServices(): "dns" | "forward" {
  return process.env["KUBERNETES_SERVICE_HOST"] === undefined ? "forward" : "dns";
}

function shown(text: string): string {
  const one = text.replace(/\s+/g, " ").trim();
  if (one === "") return "(nothing)";
  return one.length > shownBytes ? `${one.slice(0, shownBytes)}…` : one;
}
