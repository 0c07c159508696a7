/** Answers what an API server asks of webhooks: from a path and a body to a status and a body. Does no I/O of its own. */
import { type Clock, deepCopy, type JsonObject, type JsonValue, parseJson } from "@keelson/core";
import { errorText, isObject, jsonProblem } from "@keelson/core/internal";
import { answerConversionReview, type Convertible } from "@keelson/schema";
import { RuntimeError } from "../errors.ts";
import type { Logger } from "../log/logger.ts";
import { convertPath, pathOf } from "./configurations.ts";
import { jsonDiff } from "./json-diff.ts";
import type { AdmissionOperation, AdmissionRequest, Denied, Webhook } from "./webhook.ts";

/** What is sent back over HTTP. */
export interface WebhookAnswer {
  readonly status: number;
  readonly body: string;
}

/** What metrics want to hear. */
export interface WebhookObserver {
  answered?(path: string, status: number, seconds: number): void;
}

export interface AnswererOptions {
  readonly webhooks: readonly Webhook[];
  readonly converted: readonly Convertible[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer?: WebhookObserver;
}

type Work = (review: JsonObject, signal: AbortSignal) => Promise<JsonValue>;

/** Servers cut longer ones off. */
const warningLimit = 256;
/** Where the server does not say how long it waits. */
const defaultTimeoutMs = 30_000;

export class Answerer {
  readonly #options: AnswererOptions;
  readonly #works = new Map<string, Work>();
  #underWay = 0;

  constructor(options: AnswererOptions) {
    this.#options = options;
    for (const webhook of options.webhooks) {
      const { validate, mutate } = webhook.definition;
      if (validate) this.#works.set(pathOf("validate", webhook), this.#admission(webhook, "validate"));
      if (mutate) this.#works.set(pathOf("mutate", webhook), this.#admission(webhook, "mutate"));
    }
    if (options.converted.length > 0) {
      this.#works.set(
        convertPath,
        async (review) => answerConversionReview(options.converted, review) as unknown as JsonValue,
      );
    }
  }

  /** Requests that wait for their answer. */
  get underWay(): number {
    return this.#underWay;
  }

  /**
   * What an author's function throws is a 500: the server then does what the webhook's `failurePolicy` says, and never
   * takes it for an answer. `target` is the path with its query.
   */
  async answer(target: string, body: string, hangUp?: AbortSignal): Promise<WebhookAnswer> {
    const { clock, log, observer } = this.#options;
    const [path = "", query = ""] = target.split("?");
    const work = this.#works.get(path);
    if (!work) return { status: 404, body: `there is no webhook at ${path}` };
    const startedAt = clock.monotonic();
    this.#underWay++;
    let answer: WebhookAnswer;
    try {
      const review = reviewIn(body);
      answer = review
        ? { status: 200, body: JSON.stringify(await this.#inTime(work, review, query, hangUp)) }
        : { status: 400, body: "the body is no review in JSON" };
    } catch (error) {
      log.error("a webhook could not answer", { path, error });
      answer = { status: 500, body: errorText(error) };
    } finally {
      this.#underWay--;
    }
    observer?.answered?.(path, answer.status, (clock.monotonic() - startedAt) / 1000);
    return answer;
  }

  async #inTime(work: Work, review: JsonObject, query: string, hangUp: AbortSignal | undefined) {
    const { clock } = this.#options;
    const timeout = new AbortController();
    const late = Promise.withResolvers<never>();
    const limitMs = timeoutMs(query);
    const cancel = clock.timer(limitMs, () => {
      const error = new RuntimeError(
        "WebhookTimeout",
        `the webhook did not answer within ${limitMs / 1000} s`,
      );
      timeout.abort(error);
      late.reject(error);
    });
    late.promise.catch(() => {});
    const signal = hangUp ? AbortSignal.any([timeout.signal, hangUp]) : timeout.signal;
    try {
      return await Promise.race([work(review, signal), late.promise]);
    } finally {
      cancel();
    }
  }

  #admission(webhook: Webhook, role: "validate" | "mutate"): Work {
    const log = this.#options.log.child({ webhook: webhook.name });
    return async (review, signal) => {
      const given = review.request;
      if (!isObject(given) || typeof given.uid !== "string") throw badReview(review);
      const warnings: string[] = [];
      const request = requestOf(given, { warnings, signal, clock: this.#options.clock, log });
      const object = subjectOf(given);
      const before = role === "mutate" ? deepCopy(object) : object;
      const work = webhook.definition[role] as NonNullable<Webhook["definition"]["validate"]>;
      const verdict = await work(object as never, request);
      const patch = role === "mutate" && !verdict ? this.#patch(webhook, before, object) : [];
      const response = {
        uid: given.uid,
        allowed: !verdict,
        ...(verdict ? { status: refusal(verdict) } : {}),
        ...(warnings.length > 0 ? { warnings } : {}),
        ...(patch.length > 0
          ? { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }
          : {}),
      };
      const { apiVersion = "admission.k8s.io/v1" } = review;
      return { apiVersion, kind: "AdmissionReview", response } as unknown as JsonValue;
    };
  }

  #patch(webhook: Webhook, before: JsonObject, after: JsonObject) {
    const problem = jsonProblem(after, "");
    if (problem !== undefined) {
      throw new RuntimeError(
        "BadAnswer",
        `webhook "${webhook.name}" made an object that cannot be sent: ${problem}`,
      );
    }
    return jsonDiff(before, after);
  }
}

function reviewIn(body: string): JsonObject | undefined {
  try {
    const review = parseJson(body);
    return isObject(review) ? review : undefined;
  } catch {
    return undefined;
  }
}

/** Of `timeout=5s`; the server sends it with every request. */
function timeoutMs(query: string): number {
  const seconds = Number(/^(\d+)s$/.exec(new URLSearchParams(query).get("timeout") ?? "")?.[1]);
  return seconds > 0 ? seconds * 1000 : defaultTimeoutMs;
}

/** What is deleted is all there is to look at. */
function subjectOf(given: JsonObject): JsonObject {
  return (
    isObject(given.object) ? given.object : isObject(given.oldObject) ? given.oldObject : {}
  ) as JsonObject;
}

function requestOf(
  given: JsonObject,
  parts: { warnings: string[]; signal: AbortSignal; clock: Clock; log: Logger },
): AdmissionRequest {
  const { warnings, signal, clock, log } = parts;
  const user = (isObject(given.userInfo) ? given.userInfo : {}) as {
    username?: string;
    uid?: string;
    groups?: string[];
    extra?: Record<string, string[]>;
  };
  return {
    operation: given.operation as AdmissionOperation,
    oldObject: (isObject(given.oldObject) ? given.oldObject : undefined) as never,
    name: String(given.name ?? ""),
    namespace: (given.namespace as string | undefined) || undefined,
    subresource: (given.subResource as string | undefined) || undefined,
    user: {
      name: user.username ?? "",
      uid: user.uid ?? "",
      groups: user.groups ?? [],
      extra: user.extra ?? {},
    },
    dryRun: given.dryRun === true,
    options: isObject(given.options) ? given.options : undefined,
    warn: (message) => {
      warnings.push(message.slice(0, warningLimit));
    },
    signal,
    clock,
    log,
  };
}

/** Of the API, not of conditions. */
const statusReasons = { refused: "Forbidden", invalid: "Invalid", atField: "FieldValueInvalid" };

function refusal({ message, field }: Denied): JsonObject {
  if (field === undefined) return { message, reason: statusReasons.refused, code: 403 };
  const causes = [{ reason: statusReasons.atField, message, field }];
  return { message: `${field}: ${message}`, reason: statusReasons.invalid, code: 422, details: { causes } };
}

function badReview(review: JsonObject): RuntimeError {
  return new RuntimeError(
    "BadAnswer",
    `this is no AdmissionReview with a request: ${JSON.stringify(review).slice(0, 200)}`,
  );
}
