/** MutatingAdmissionPolicy: changes objects as expressions say. */

import {
  AdmissionCompiler,
  type AdmissionExpression,
  admissionCostBudget,
  applyConfigurationType,
  Fault,
  jsonPatchListType,
  toJson,
} from "@keelson/cel";
import { deepEqual, type JsonObject } from "@keelson/core";
import {
  applyJsonPatch,
  checkType,
  type JsonPatchOperation,
  MergeError,
  mergeTyped,
} from "@keelson/core/internal/merge";
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from "@keelson/core/kinds";
import type { AdmissionPlugin, AdmissionRequest } from "../../contracts/admission.ts";
import type { ApiObject } from "../../contracts/object.ts";
import type { PluginContext } from "../../contracts/plugin.ts";
import { forbidden, StatusError, serviceUnavailable } from "../../contracts/status-error.ts";
import { inputOf, MatchConditions } from "../expressions.ts";
import { isExempt, type Match, requestName } from "../matching.ts";
import { roundsOf } from "../reinvocation.ts";
import { findAtomics } from "./atomics.ts";
import { ConfiguredPolicies, namespaceOf, type PolicyInvocation, Versions } from "./configured.ts";

/** A mutation that cannot be made; the policy's failure policy decides what follows. */
class MutationProblem extends Error {}

interface Mutator {
  readonly expression: AdmissionExpression;
  readonly applies: boolean;
}

class Evaluator {
  readonly compiler: AdmissionCompiler;
  readonly conditions: MatchConditions;
  readonly mutators: readonly Mutator[];

  constructor({ spec = {} }: MutatingAdmissionPolicy) {
    this.compiler = new AdmissionCompiler({
      hasParams: !!spec.paramKind,
      hasAuthorizer: true,
      hasPatchTypes: true,
      variables: spec.variables ?? [],
    });
    this.conditions = new MatchConditions(spec.matchConditions ?? [], this.compiler);
    this.mutators = (spec.mutations ?? []).map(({ patchType, jsonPatch, applyConfiguration }) => {
      const applies = patchType === "ApplyConfiguration";
      const source = (applies ? applyConfiguration : jsonPatch)?.expression ?? "";
      const type = applies ? applyConfigurationType : jsonPatchListType;
      return { applies, expression: this.compiler.compile(source, [type]) };
    });
  }
}

type Invocation = PolicyInvocation<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, Evaluator>;

interface Refusal {
  readonly message: string;
  readonly reason?: string;
}

export function mutatingAdmissionPolicy(context: PluginContext): AdmissionPlugin {
  const name = "MutatingAdmissionPolicy";
  const configured = new ConfiguredPolicies<
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    Evaluator
  >(
    context,
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    (policy) => new Evaluator(policy),
  );

  /** Throws a MutationProblem, or the refusal. */
  const mutate = async (request: AdmissionRequest, invocation: Invocation): Promise<boolean> => {
    const { policy, match, params } = invocation;
    let changed = false;
    for (const mutator of policy.evaluator.mutators) {
      const objects = await new Versions(context, request).of(match);
      if (!objects.object) continue;
      const namespace = namespaceOf(request, context);
      const { authorizer } = context;
      const input = inputOf({ request, match, objects, authorizer, params, namespace });
      const { results, error } = policy.evaluator.compiler.evaluate(
        [mutator.expression],
        input,
        admissionCostBudget,
      );
      const [result] = results;
      if (error !== undefined || !result || result.error !== undefined)
        throw new MutationProblem(error ?? result?.error ?? "");
      const value = toJson(result.value);
      if (value instanceof Fault) throw new MutationProblem(value.message);
      const patched = mutator.applies
        ? applied(context, match, objects.object, value as JsonObject)
        : patchedBy(context, objects.object, value as unknown as JsonPatchOperation[]);
      if (deepEqual(patched, objects.object)) continue;
      changed = true;
      const own = match.kind.version === request.kind.version;
      request.object = own ? patched : await context.convert(patched, String(request.object?.apiVersion));
    }
    return changed;
  };

  const admit = async (request: AdmissionRequest): Promise<void> => {
    const step = roundsOf(request).of(name);
    step.begin(request);
    const { invocations, faults } = await configured.select(request);
    const found: Refusal[] = faults
      .filter(({ policy }) => policy.object.spec?.failurePolicy !== "Ignore")
      .map(({ policy, binding, message }) => ({ message: told(policy.name, binding?.name, message) }));
    for (const invocation of invocations) {
      const { policy, binding, match, params } = invocation;
      const fail = (message: string) => {
        if (policy.object.spec?.failurePolicy !== "Ignore")
          found.push({ message: told(policy.name, binding.name, message), reason: "Invalid" });
      };
      const objects = await new Versions(context, request).of(match);
      const { authorizer } = context;
      const matched = policy.evaluator.conditions.match(
        inputOf({ request, match, objects, authorizer, params }),
      );
      if (matched.error !== undefined) fail(matched.error);
      if (!matched.matches) continue;
      const key = `${policy.name}/${binding.name}/${params?.metadata.namespace ?? ""}/${params?.metadata.name ?? ""}`;
      if (step.skips(key)) continue;
      let changed = false;
      try {
        changed = await mutate(request, invocation);
      } catch (error) {
        if (!(error instanceof MutationProblem)) throw error;
        fail(error.message);
      }
      step.ran(key, changed, policy.object.spec?.reinvocationPolicy === "IfNeeded");
    }
    step.end(request);
    if (found.length > 0) throw refusal(request, found);
  };

  return {
    name,
    admit(request) {
      if (configured.list.length === 0 || isExempt(request)) return undefined;
      return admit(request);
    },
  };
}

function told(policy: string, binding: string | undefined, message: string): string {
  return binding === undefined
    ? `policy ${JSON.stringify(policy)} denied request: ${message}`
    : `policy '${policy}' with binding '${binding}' denied request: ${message}`;
}

function refusal(request: AdmissionRequest, faults: readonly Refusal[]): StatusError {
  const { status } = forbidden(request.resource, requestName(request), "");
  const [first] = faults;
  return new StatusError({
    ...status,
    message: first?.message ?? "",
    ...(first?.reason && { reason: first.reason }),
    details: { ...status.details, causes: faults.map(({ message }) => ({ message })) },
  } as StatusError["status"]);
}

/** A patch whose `test` fails leaves the object alone. */
function patchedBy(
  context: PluginContext,
  object: ApiObject,
  patch: readonly JsonPatchOperation[],
): ApiObject {
  try {
    return context.complete(applyJsonPatch(object, patch));
  } catch (error) {
    if (!(error instanceof MergeError)) throw error;
    if (error.message.endsWith("test failed")) return object;
    throw new MutationProblem(`JSON Patch: ${error.message}`);
  }
}

/** Merges as server-side apply does, but into nothing that can only be replaced as a whole. */
function applied(context: PluginContext, match: Match, object: ApiObject, config: JsonObject): ApiObject {
  const { group, version, kind } = match.kind;
  const type = context.mergeType(group, version, kind);
  if (!type)
    throw serviceUnavailable(
      `Resource kind ${group}/${version}, Kind=${kind} not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.`,
    );
  const patch: JsonObject = { ...config, apiVersion: object.apiVersion ?? "", kind: object.kind ?? "" };
  try {
    checkType(patch, type, { allowDuplicates: false });
  } catch (error) {
    if (!(error instanceof MergeError)) throw error;
    throw new MutationProblem(
      `error applying patch: failed to convert patch object to typed object: ${error.message}`,
    );
  }
  const atomics = findAtomics(patch, type);
  if (atomics.length > 0)
    throw new MutationProblem(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`,
    );
  return context.complete(mergeTyped(object, patch, type) as JsonObject);
}
