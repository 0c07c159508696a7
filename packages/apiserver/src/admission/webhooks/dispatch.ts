/** Decides whether a webhook is asked about a request, and asks it. */

import type { AdmissionRequest } from "../../contracts/admission.ts";
import type { ApiObject } from "../../contracts/object.ts";
import type { PluginContext } from "../../contracts/plugin.ts";
import { badRequest, forbidden } from "../../contracts/status-error.ts";
import { inputOf, type VersionedObjects } from "../expressions.ts";
import { type Match, matchRules, requestName } from "../matching.ts";
import type { ConfiguredWebhook } from "./configurations.ts";
import { answerProblem, CallFailure, transportProblem } from "./failures.ts";
import { type Answer, answerOf, BadAnswer, BadPatch, denial, questionOf, Unreadable } from "./review.ts";

export interface Invocation {
  readonly match: Match;
  readonly objects: VersionedObjects;
}

const reviewVersions = ["v1", "v1beta1"] as const;

export class WebhookDispatcher {
  readonly #context: PluginContext;
  readonly #mutating: boolean;

  constructor(context: PluginContext, mutating: boolean) {
    this.#context = context;
    this.#mutating = mutating;
  }

  /** What to ask with; undefined when the webhook has nothing to do with the request. */
  async invocation(
    configured: ConfiguredWebhook,
    request: AdmissionRequest,
  ): Promise<Invocation | undefined> {
    const { hook, selectors, conditions } = configured;
    const { store, resources, authorizer } = this.#context;
    const match = matchRules(hook.rules ?? [], hook.matchPolicy === "Equivalent", request, resources);
    if (!match || !selectors.match(request, store)) return undefined;
    const objects = await this.#versioned(request, match);
    if (conditions.isEmpty) return { match, objects };
    const { matches, error } = conditions.match(inputOf({ request, match, objects, authorizer }));
    if (error !== undefined && !configured.ignoresFailures)
      throw forbidden(request.resource, requestName(request), error);
    return matches ? { match, objects } : undefined;
  }

  /** Throws a CallFailure when there is no answer, and the refusal when the answer is no. */
  async ask(
    configured: ConfiguredWebhook,
    request: AdmissionRequest,
    invocation: Invocation,
  ): Promise<Answer> {
    const { hook } = configured;
    if (request.dryRun && hook.sideEffects !== "None" && hook.sideEffects !== "NoneOnDryRun")
      throw badRequest(`admission webhook ${JSON.stringify(hook.name)} does not support dry run`);
    const version = (hook.admissionReviewVersions ?? []).find((one): one is (typeof reviewVersions)[number] =>
      (reviewVersions as readonly string[]).includes(one),
    );
    if (!version)
      throw new CallFailure(
        hook.name,
        "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
      );
    const { match, objects } = invocation;
    const question = questionOf(this.#context.random.uuid(), version, request, match, objects);
    const text = await this.#send(configured, question.body, request);
    const answer = this.#read(() => answerOf(text, question, this.#mutating), hook.name);
    for (const warning of answer.warnings) request.warn(warning);
    if (!answer.allowed) throw denial(hook.name, answer.status);
    return answer;
  }

  #read(read: () => Answer, hook: string): Answer {
    try {
      return read();
    } catch (error) {
      if (error instanceof BadAnswer)
        throw new CallFailure(hook, `received invalid webhook response: ${error.message}`);
      if (error instanceof Unreadable)
        throw new CallFailure(hook, `failed to call webhook: ${error.message}`);
      if (error instanceof BadPatch) throw new CallFailure(hook, error.message);
      throw error;
    }
  }

  async #send(
    { hook, target, timeoutSeconds }: ConfiguredWebhook,
    body: string,
    request: AdmissionRequest,
  ): Promise<string> {
    const { clock, callWebhook } = this.#context;
    const url = `${target.url}?timeout=${timeoutSeconds}s`;
    const controller = new AbortController();
    let timedOut = false;
    const cancel = clock.timer(timeoutSeconds * 1000, () => {
      timedOut = true;
      controller.abort();
    });
    const stop = () => controller.abort();
    request.signal?.addEventListener("abort", stop, { once: true });
    try {
      const answer = await callWebhook({ ...target, url }, body, controller.signal);
      if (answer.status < 200 || answer.status > 206)
        throw new CallFailure(
          hook.name,
          `failed to call webhook: ${answerProblem(answer.status, answer.body)}`,
        );
      return answer.body;
    } catch (error) {
      if (error instanceof CallFailure) throw error;
      throw new CallFailure(hook.name, `failed to call webhook: ${transportProblem(url, error, timedOut)}`);
    } finally {
      cancel();
      request.signal?.removeEventListener("abort", stop);
    }
  }

  async #versioned(request: AdmissionRequest, { kind }: Match): Promise<VersionedObjects> {
    const { object, oldObject } = request;
    if (kind.version === request.kind.version) return { object, oldObject };
    const apiVersion = kind.group ? `${kind.group}/${kind.version}` : kind.version;
    const convert = async (one: ApiObject | undefined) => one && this.#context.convert(one, apiVersion);
    return { object: await convert(object), oldObject: await convert(oldObject) };
  }
}
