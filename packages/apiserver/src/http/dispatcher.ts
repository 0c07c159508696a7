/** Every request's way through the server: who, may they, what, and an answer whatever happens. */
import { parseDuration, type Random } from "@keelson/core";
import type { Authenticator, UserInfo } from "../contracts/authentication.ts";
import type { Attributes, Authorizer } from "../contracts/authorization.ts";
import { denied } from "../contracts/denied.ts";
import type { Plugins } from "../contracts/plugin.ts";
import { badRequest, failure, StatusError, statusOf, unauthorized } from "../contracts/status-error.ts";
import { bearerToken } from "../messages/bearer.ts";
import { header, type ServerRequest, type ServerResponse } from "../messages/message.ts";
import { negotiateError } from "../messages/negotiation.ts";
import { parseRequestInfo, type RequestInfo } from "../messages/request-info.ts";
import { statusResponse } from "../messages/response.ts";
import type { InFlight } from "./in-flight.ts";

/** What answers once the user is known and allowed. */
export type Handler = (
  request: ServerRequest,
  info: RequestInfo,
  user: UserInfo,
  warnings: Set<string>,
) => Promise<ServerResponse>;

const anonymous: UserInfo = { name: "system:anonymous", groups: ["system:unauthenticated"] };
const openPaths = new Set(["/healthz", "/livez", "/readyz", "/version", "/version/"]);

export class Dispatcher {
  readonly #authenticators: readonly Authenticator[];
  readonly #authorizer: Authorizer;
  readonly #anonymous: boolean;
  readonly #impersonate: Plugins["impersonate"];
  readonly #handle: Handler;
  readonly #random: Random;
  readonly #onInternalError: ((error: unknown, request: ServerRequest) => void) | undefined;
  readonly #inFlight: InFlight;

  constructor(parts: {
    authenticators: readonly Authenticator[];
    authorizer: Authorizer;
    /** Whether a request may come from nobody. */
    anonymous: boolean;
    impersonate: Plugins["impersonate"];
    handle: Handler;
    random: Random;
    inFlight: InFlight;
    onInternalError?: ((error: unknown, request: ServerRequest) => void) | undefined;
  }) {
    this.#authenticators = parts.authenticators;
    this.#authorizer = parts.authorizer;
    this.#anonymous = parts.anonymous;
    this.#impersonate = parts.impersonate;
    this.#handle = parts.handle;
    this.#random = parts.random;
    this.#onInternalError = parts.onInternalError;
    this.#inFlight = parts.inFlight;
  }

  /** Never rejects: what goes wrong is a Status. */
  async dispatch(request: ServerRequest): Promise<ServerResponse> {
    const warnings = new Set<string>();
    let response: ServerResponse;
    try {
      response = await this.#serve(request, warnings);
    } catch (thrown) {
      const error = tame(thrown);
      if (!(error instanceof StatusError)) this.#onInternalError?.(error, request);
      response = await statusResponse(
        statusOf(error),
        negotiateError(header(request.headers, "accept"), {
          query: queryOf(request.target),
          ...userAgent(request),
        }),
      );
    }
    return this.#finish(response, warnings);
  }

  async #serve(request: ServerRequest, warnings: Set<string>): Promise<ServerResponse> {
    const info = parseRequestInfo(request.method, request.target);
    checkTimeout(info);
    const found = this.#userOf(request, info);
    const user = found instanceof Promise ? await found : found;
    const attributes = attributesOf(info, user);
    // Where answers take no time, the client is part of this process, and not counted.
    const leave = request.onAnswered && this.#inFlight.enter(user, info);
    if (leave) request.onAnswered?.(leave);
    const decided = this.#authorizer.authorize(attributes);
    const { decision, reason } = decided instanceof Promise ? await decided : decided;
    if (decision !== "allow" && !isOpen(info, request.method)) throw denied(attributes, reason);
    return this.#handle(request, info, user, warnings);
  }

  /** Waits only where an authenticator does: most requests bring what is known already. */
  #userOf(request: ServerRequest, info: RequestInfo, from = 0): UserInfo | Promise<UserInfo> {
    for (let i = from; i < this.#authenticators.length; i++) {
      const user = (this.#authenticators[i] as Authenticator).authenticate(request);
      if (user instanceof Promise) return this.#waitFor(user, request, info, i + 1);
      if (user) return this.#known(request, info, user);
    }
    return this.#known(request, info, undefined);
  }

  async #waitFor(
    user: Promise<UserInfo | undefined>,
    request: ServerRequest,
    info: RequestInfo,
    next: number,
  ): Promise<UserInfo> {
    const waited = await user;
    return waited ? this.#known(request, info, waited) : this.#userOf(request, info, next);
  }

  #known(
    request: ServerRequest,
    info: RequestInfo,
    authenticated: UserInfo | undefined,
  ): UserInfo | Promise<UserInfo> {
    let user = authenticated;
    if (!user) {
      // A token that nobody knows is wrong; without one, the request is nobody's.
      if (bearerToken(request.headers) !== undefined) throw unauthorized();
      if (!this.#anonymous && !isOpen(info, request.method)) throw unauthorized();
      user = anonymous;
    } else if (!user.groups.includes("system:authenticated") && user.name !== anonymous.name) {
      user = { ...user, groups: [...user.groups, "system:authenticated"] };
    }
    if (!this.#impersonate) return user;
    const real = user;
    return this.#impersonate(request, real, this.#authorizer, () => attributesOf(info, real));
  }

  #finish(response: ServerResponse, warnings: ReadonlySet<string>): ServerResponse {
    const headers: ServerResponse["headers"] = {
      "audit-id": this.#random.uuid(),
      "cache-control": "no-cache, private",
    };
    for (const name in response.headers) headers[name] = response.headers[name] as string | string[];
    if (warnings.size > 0) headers.warning = bounded(warnings).map(warningHeader);
    return { status: response.status, headers, body: response.body };
  }
}

/** How long a client would wait is checked before who it is. Watches and connections know no such limit. */
function checkTimeout({ query, verb, subresource }: RequestInfo): void {
  const timeout = query.get("timeout");
  if (!timeout || verb === "watch" || endless.has(subresource)) return;
  try {
    parseDuration(timeout);
  } catch (error) {
    const why = `time: invalid duration ${JSON.stringify(timeout)}`;
    throw badRequest(`invalid timeout specified in the request URL - ${why}`, error);
  }
}

const endless = new Set(["log", "exec", "attach", "portforward", "proxy"]);

function isOpen(info: RequestInfo, method: string): boolean {
  return method === "GET" && openPaths.has(info.path);
}

function attributesOf(info: RequestInfo, user: UserInfo): Attributes {
  return {
    user,
    verb: info.verb,
    resourceRequest: info.isResource,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
    ...(info.fieldSelector && { fieldSelector: info.fieldSelector }),
  };
}

/** A stack that ran out did so over what the client sent. */
function tame(error: unknown): unknown {
  if (error instanceof RangeError && /call stack/i.test(error.message))
    return failure({ code: 400, reason: "BadRequest", message: "the object is nested too deeply" });
  return error;
}

function queryOf(target: string): URLSearchParams {
  const mark = target.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
}

function userAgent(request: ServerRequest): { userAgent?: string } {
  const value = header(request.headers, "user-agent");
  return value === undefined ? {} : { userAgent: value };
}

/** Characters of all warnings together, above which each is cut. */
const mostWarning = 4096;
const mostOfEach = 256;

/** As many as fit: all of them, or the beginnings of the first ones. */
function bounded(warnings: ReadonlySet<string>): string[] {
  let total = 0;
  for (const text of warnings) total += text.length;
  if (total <= mostWarning) return [...warnings];
  const cut: string[] = [];
  let written = 0;
  for (const text of warnings) {
    if (written >= mostWarning) break;
    const characters =
      text.length <= mostOfEach ? text : [...text.slice(0, 2 * mostOfEach)].slice(0, mostOfEach).join("");
    written += characters.length;
    cut.push(characters);
  }
  return cut;
}

function warningHeader(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header must not carry them.
  const clean = text.replace(/[\u0000-\u001f\u007f]/g, " ").replace(/[\\"]/g, (char) => `\\${char}`);
  return `299 - "${Buffer.from(clean).toString("latin1")}"`;
}
