/** Admission without a webhook: a ValidatingAdmissionPolicy, which the API server evaluates itself. */
import { createRequire } from "node:module";
import type { AnyKind, JsonObject, KubeObject } from "@keelson/core";
import { RuntimeError } from "../errors.ts";
import { ruleOf, selectorsOf } from "./configurations.ts";
import type { WebhookMatch } from "./webhook.ts";

type Cel = typeof import("@keelson/cel");

/** The compiler of expressions, loaded for the first policy. */
const load = createRequire(import.meta.url);

/** One thing that must be true of a request. */
export interface PolicyValidation {
  /** In CEL, over `object`, `oldObject`, `request`, `namespaceObject`, `authorizer` and `variables`. */
  readonly expression: string;
  /** What is said when it is not. */
  readonly message: string;
  /** Default: `Invalid`. */
  readonly reason?: "Invalid" | "Forbidden" | "Unauthorized" | "RequestEntityTooLarge";
}

/** What must be true of requests, in CEL. */
export interface PolicyDefinition extends WebhookMatch {
  /** Names the policy and its binding in the cluster. */
  readonly name: string;
  readonly validations: readonly PolicyValidation[];
  /** Expressions that validations share, by name; each may use those before it. */
  readonly variables?: Readonly<Record<string, string>>;
  /** What happens when an expression cannot be evaluated. Default: `Fail`. */
  readonly failurePolicy?: "Fail" | "Ignore";
  /** What happens to a request that is not as it must be. Default: `Deny`. */
  readonly actions?: readonly ("Deny" | "Warn" | "Audit")[];
}

/** A policy, ready to be written into manifests. */
export interface AdmissionPolicy {
  readonly role: "policy";
  readonly name: string;
  readonly kind: AnyKind;
  /** The ValidatingAdmissionPolicy and its binding, as plain JSON. */
  objects(): PolicyObject[];
}

/** A policy or its binding. */
export type PolicyObject = KubeObject & { apiVersion: string; kind: string; metadata: { name: string } };

/**
 * Makes a policy for a resource of one's own or any other kind. Nothing runs for it but the API server: prefer it to a
 * webhook where CEL is enough. Expressions are compiled here, as the server would.
 */
export function admissionPolicy(kind: AnyKind, definition: PolicyDefinition): AdmissionPolicy {
  check(definition);
  return Object.freeze({
    role: "policy",
    name: definition.name,
    kind,
    objects: () => [policyOf(kind, definition), bindingOf(definition)],
  });
}

function policyOf(kind: AnyKind, definition: PolicyDefinition): PolicyObject {
  const { name, validations, variables, failurePolicy, conditions } = definition;
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: {
      failurePolicy: failurePolicy ?? "Fail",
      matchConstraints: {
        matchPolicy: "Equivalent",
        resourceRules: [ruleOf(kind, definition)],
        ...selectorsOf(definition),
      },
      ...(conditions ? { matchConditions: named(conditions) } : {}),
      ...(variables ? { variables: named(variables) } : {}),
      validations: validations.map((each) => ({ ...each })),
    },
  } as PolicyObject;
}

function bindingOf({ name, actions = ["Deny"] }: PolicyDefinition): PolicyObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name, validationActions: [...actions] },
  } as PolicyObject;
}

function named(expressions: Readonly<Record<string, string>>): JsonObject[] {
  return Object.entries(expressions).map(([name, expression]) => ({ name, expression }));
}

/** Not inside a cluster, whose server has taken the policy already. */
function check({ name, validations, variables = {}, conditions = {} }: PolicyDefinition): void {
  if (process.env["KUBERNETES_SERVICE_HOST"] !== undefined) return;
  const { AdmissionCompiler, types } = load("@keelson/cel") as Cel;
  const compiler = new AdmissionCompiler({ hasAuthorizer: true, variables: named(variables) as never });
  const [variable] = compiler.variableErrors;
  if (variable) throw broken(name, `variable ${variable.name}`, variable.error);
  const all = [
    ...Object.entries(conditions),
    ...validations.map(({ expression }, index) => [`validation ${index + 1}`, expression] as const),
  ];
  for (const [what, expression] of all) {
    const { error } = compiler.compile(expression, [types.bool]);
    if (error !== undefined) throw broken(name, what, error);
  }
}

function broken(name: string, what: string, error: string): RuntimeError {
  const [line = ""] = error.split("\n");
  return new RuntimeError("InvalidDeclaration", `policy "${name}", ${what}: ${line}`);
}
