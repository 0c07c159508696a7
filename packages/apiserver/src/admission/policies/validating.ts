/** ValidatingAdmissionPolicy: refuses what expressions find wrong. */

import {
  AdmissionCompiler,
  type AdmissionExpression,
  type AdmissionInput,
  admissionCostBudget,
  types,
} from "@keelson/cel";
import { lookupTable } from "@keelson/core/internal";
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  Validation,
} from "@keelson/core/kinds";
import type { AdmissionPlugin, AdmissionRequest } from "../../contracts/admission.ts";
import type { PluginContext } from "../../contracts/plugin.ts";
import { StatusError } from "../../contracts/status-error.ts";
import { inputOf, MatchConditions } from "../expressions.ts";
import { isExempt } from "../matching.ts";
import { refused } from "../refusals.ts";
import { ConfiguredPolicies, namespaceOf, Versions } from "./configured.ts";

interface Denial {
  readonly message: string;
  readonly reason?: string;
}

const longestMessage = 5 * 1024;

/** The expressions of one policy. */
class Evaluator {
  readonly #compiler: AdmissionCompiler;
  readonly #conditions: MatchConditions;
  readonly #validations: readonly { readonly rule: Validation; readonly expression: AdmissionExpression }[];
  readonly #messages: readonly (AdmissionExpression | undefined)[];
  readonly #annotations: readonly AdmissionExpression[];
  readonly #ignoresFailures: boolean;

  constructor({ spec = {} }: ValidatingAdmissionPolicy) {
    const { variables = [], validations = [], auditAnnotations = [], matchConditions = [] } = spec;
    this.#ignoresFailures = spec.failurePolicy === "Ignore";
    this.#compiler = new AdmissionCompiler({
      hasParams: !!spec.paramKind,
      hasAuthorizer: true,
      variables,
    });
    this.#conditions = new MatchConditions(matchConditions, this.#compiler);
    this.#validations = validations.map((rule) => ({
      rule,
      expression: this.#compiler.compile(rule.expression, [types.bool]),
    }));
    this.#messages = validations.map(({ messageExpression }) =>
      messageExpression ? this.#compiler.compile(messageExpression, [types.string]) : undefined,
    );
    this.#annotations = auditAnnotations.map(({ valueExpression }) =>
      this.#compiler.compile(valueExpression, [types.string, types.null]),
    );
  }

  evaluate(input: AdmissionInput): Denial[] {
    const failed = (message: string): Denial[] => (this.#ignoresFailures ? [] : [{ message }]);
    const matched = this.#conditions.match(input);
    if (matched.error !== undefined) return failed(matched.error);
    if (!matched.matches) return [];
    const judged = this.#compiler.evaluate(
      this.#validations.map(({ expression }) => expression),
      input,
    );
    if (judged.error !== undefined) return failed(judged.error);
    const messages = this.#compiler.evaluate(this.#messages, input, judged.remainingBudget);
    const denials = judged.results.flatMap(({ value, error }, i): Denial[] => {
      const { rule } = this.#validations[i] as { rule: Validation };
      if (error !== undefined) return failed(error);
      if (messages.error !== undefined) return failed(`failed messageExpression: ${messages.error}`);
      if (value === true) return [];
      const told = messages.results[i]?.value;
      return [{ message: messageOf(rule, told), reason: rule.reason ?? "Invalid" }];
    });
    return [...denials, ...this.#annotationFaults(input, failed)];
  }

  /** Nobody reads the annotations themselves here; that they can be made is still asked. */
  #annotationFaults(input: AdmissionInput, failed: (message: string) => Denial[]): Denial[] {
    if (this.#annotations.length === 0) return [];
    const { results, error } = this.#compiler.evaluate(this.#annotations, input, admissionCostBudget);
    if (error !== undefined) return failed(error);
    return results.flatMap((result) => (result.error === undefined ? [] : failed(result.error)));
  }
}

function messageOf({ message = "", expression }: Validation, told: unknown): string {
  const text = typeof told === "string" ? told.trim() : "";
  if (text !== "" && text.length <= longestMessage && !text.includes("\n")) return text;
  return message.trim() || `failed expression: ${expression.trim()}`;
}

const codes: Readonly<Record<string, number>> = lookupTable({
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
});

function refusal(request: AdmissionRequest, message: string, reason = "Invalid"): StatusError {
  const { status } = refused(request, message);
  return new StatusError({
    ...status,
    reason,
    details: { ...status.details, causes: [{ message }] },
    code: codes[reason] ?? 422,
  } as StatusError["status"]);
}

export function validatingAdmissionPolicy(context: PluginContext): AdmissionPlugin {
  const configured = new ConfiguredPolicies<
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    Evaluator
  >(
    context,
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    (policy) => new Evaluator(policy),
  );

  const validate = async (request: AdmissionRequest): Promise<void> => {
    const { invocations, faults } = await configured.select(request);
    const told = (policy: string, binding: string | undefined, message: string): string =>
      `ValidatingAdmissionPolicy '${policy}'${binding === undefined ? "" : ` with binding '${binding}'`} denied request: ${message}`;
    for (const { policy, binding, message } of faults)
      if (policy.object.spec?.failurePolicy !== "Ignore")
        throw refusal(request, told(policy.name, binding?.name, message));
    const versions = new Versions(context, request);
    const namespace = namespaceOf(request, context);
    let first: StatusError | undefined;
    for (const { policy, binding, match, params } of invocations) {
      const objects = await versions.of(match);
      const { authorizer } = context;
      const input = inputOf({ request, match, objects, authorizer, params, namespace });
      const actions = binding.object.spec?.validationActions ?? [];
      for (const { message, reason } of policy.evaluator.evaluate(input)) {
        if (actions.includes("Warn"))
          request.warn(
            `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`,
          );
        if (actions.includes("Deny"))
          first ??= refusal(request, told(policy.name, binding.name, message), reason);
      }
    }
    if (first) throw first;
  };

  return {
    name: "ValidatingAdmissionPolicy",
    validate(request) {
      if (configured.list.length === 0 || isExempt(request)) return undefined;
      return validate(request);
    },
  };
}
