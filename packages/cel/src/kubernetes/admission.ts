/** Expressions of admission: policies, their variables and messages, and match conditions. */

import { goQuote } from "@keelson/core/internal";
import type { Environment, ObjectDecl } from "../check/environment.ts";
import { compileToChecked, defaultCostLimit, Program } from "../program/program.ts";
import { CelError, CelIssues } from "../syntax/errors.ts";
import { type CelType, formatType, objectType, sameType, types } from "../values/types.ts";
import { CelMap, type CelValue, Fault, fault } from "../values/values.ts";
import {
  admissionObjects,
  namespaceType,
  requestType,
  resolvePatchType,
  variablesTypeName,
} from "./admission-types.ts";
import { fromJson } from "./dynamic-json.ts";
import { kubernetesEnvironment } from "./environment.ts";
import { authorizerType, resourceCheckType } from "./library/authorizer.ts";
import { jsonPatchLibrary } from "./library/json-patch.ts";

/** What all validations of one policy binding may cost together. */
export const admissionCostBudget = 10_000_000;
/** What the match conditions of one webhook or policy may cost together. */
export const matchConditionsCostBudget = 2_500_000;

/** What an expression of an admission policy is compiled with. */
export interface AdmissionOptions {
  /** Declares `params`. */
  readonly hasParams?: boolean;
  /** Declares `authorizer` and `authorizer.requestResource`. */
  readonly hasAuthorizer?: boolean;
  /** Declares `Object{…}`, `JSONPatch{…}` and `jsonpatch.escapeKey`, for mutations. */
  readonly hasPatchTypes?: boolean;
  /** Declares `variables.name`, each of which may use those before it. Absent: no `variables` at all. */
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
}

/** An expression and, when it compiled, its program. */
export interface AdmissionExpression {
  readonly source: string;
  readonly program: Program | undefined;
  /** `compilation failed: …`, as the API server reports it at the expression's field. */
  readonly error: string | undefined;
}

/** The variables that expressions of admission policies see. */
export interface AdmissionInput {
  /** JSON; null or absent where the request has none. */
  readonly object?: unknown;
  readonly oldObject?: unknown;
  /** The AdmissionRequest, as JSON, without its objects. */
  readonly request: unknown;
  readonly params?: unknown;
  readonly namespaceObject?: unknown;
  /** See `authorizerValue` and `resourceAuthorizerValue`. */
  readonly authorizer?: CelValue;
  readonly requestResource?: CelValue;
}

/** What the expressions of an admission policy gave, and what they cost. */
export type AdmissionResult =
  | { readonly value: CelValue; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string };

/** The result of one expression of an admission policy. */
export interface AdmissionEvaluation {
  /** One for each expression, in order; empty when the budget ran out. */
  readonly results: readonly AdmissionResult[];
  readonly remainingBudget: number;
  /** Present when the budget ran out. */
  readonly error?: string;
}

const outOfBudget =
  "validation failed due to running out of cost budget, no further validation rules will be run";

/** Compiles the expressions of one policy or webhook, which share variables. */
export class AdmissionCompiler {
  readonly #environment: Environment;
  readonly #variables = new Map<string, AdmissionExpression>();

  constructor(options: AdmissionOptions = {}) {
    const variables: Record<string, CelType> = {
      object: types.dyn,
      oldObject: types.dyn,
      namespaceObject: namespaceType,
      request: requestType,
      ...(options.hasParams && { params: types.dyn }),
      ...(options.hasAuthorizer && {
        authorizer: authorizerType,
        "authorizer.requestResource": resourceCheckType,
      }),
      ...(options.variables && { variables: objectType(variablesTypeName) }),
    };
    // Filled while variables compile: each sees the ones before it.
    const fields = new Map<string, CelType>();
    const composed: ObjectDecl = { name: variablesTypeName, fields };
    this.#environment = kubernetesEnvironment.extend({
      variables,
      objects: options.variables === undefined ? admissionObjects : [...admissionObjects, composed],
      ...(options.hasPatchTypes && { resolveObject: resolvePatchType, libraries: [jsonPatchLibrary] }),
    });
    for (const { name, expression } of options.variables ?? []) {
      const compiled = this.compile(expression);
      fields.set(name, compiled.program?.resultType ?? types.dyn);
      this.#variables.set(name, compiled);
    }
  }

  /** The variables that did not compile. */
  get variableErrors(): { name: string; error: string }[] {
    const errors: { name: string; error: string }[] = [];
    for (const [name, { error }] of this.#variables) if (error !== undefined) errors.push({ name, error });
    return errors;
  }

  /** `returns` lists the types the expression may have; any when absent. */
  compile(source: string, returns?: readonly CelType[]): AdmissionExpression {
    const failed = (error: string): AdmissionExpression => ({ source, program: undefined, error });
    const checked = compileToChecked(source, this.#environment);
    if (checked instanceof CelIssues) return failed(`compilation failed: ${checked}`);
    const type = checked.resultType;
    if (returns !== undefined && !returns.some((allowed) => sameType(allowed, type))) {
      const [only] = returns;
      const names = returns.map(formatType).join(" ");
      return failed(
        returns.length === 1 && only !== undefined
          ? `must evaluate to ${formatType(only)} but got ${formatType(type)}`
          : `must evaluate to one of [${names}] but got ${formatType(type)}`,
      );
    }
    try {
      return { source, program: new Program(checked), error: undefined };
    } catch (error) {
      if (error instanceof CelError) return failed(`program instantiation failed: ${error.message}`);
      throw error;
    }
  }

  /** Evaluates expressions of this compiler on one request. Undefined entries keep their place. */
  evaluate(
    expressions: readonly (AdmissionExpression | undefined)[],
    input: AdmissionInput,
    costBudget: number = admissionCostBudget,
  ): AdmissionEvaluation {
    const variables = new LazyVariables(this.#variables);
    const bindings = bindingsOf(input, variables);
    variables.bindings = bindings;
    const results: AdmissionResult[] = [];
    let budget = costBudget;
    for (const expression of expressions) {
      if (expression === undefined) results.push({ value: null });
      else if (expression.program === undefined) {
        results.push({ error: `compilation error: ${expression.error ?? ""}` });
      } else {
        const { value, cost } = expression.program.evaluate(bindings, { costLimit: defaultCostLimit });
        budget -= variables.takeCost() + cost;
        if (budget < 0) return { results: [], remainingBudget: -1, error: outOfBudget };
        results.push(
          value instanceof Fault
            ? { error: `expression '${expression.source}' resulted in error: ${value.message}` }
            : { value },
        );
      }
    }
    return { results, remainingBudget: budget };
  }
}

function bindingsOf(input: AdmissionInput, variables: LazyVariables): Record<string, CelValue> {
  return {
    object: fromJson(input.object),
    oldObject: fromJson(input.oldObject),
    request: fromJson(input.request),
    namespaceObject: fromJson(input.namespaceObject),
    params: fromJson(input.params),
    variables,
    ...(input.authorizer !== undefined && { authorizer: input.authorizer }),
    ...(input.requestResource !== undefined && { "authorizer.requestResource": input.requestResource }),
  };
}

/** `variables`: each is computed when first read, at most once a request. */
class LazyVariables extends CelMap {
  readonly #expressions: ReadonlyMap<string, AdmissionExpression>;
  readonly #known = new Map<string, CelValue>();
  #cost = 0;
  bindings: Readonly<Record<string, CelValue>> = {};

  constructor(expressions: ReadonlyMap<string, AdmissionExpression>) {
    super();
    this.#expressions = expressions;
  }

  override get size(): number {
    return this.#expressions.size;
  }

  override keys(): Iterable<CelValue> {
    return this.#expressions.keys();
  }

  override find(key: CelValue): CelValue | undefined {
    if (typeof key !== "string") return undefined;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const expression = this.#expressions.get(key);
    if (expression === undefined) return undefined;
    const value = this.#compute(key, expression);
    this.#known.set(key, value);
    return value;
  }

  #compute(name: string, { program, error }: AdmissionExpression): CelValue {
    if (program === undefined) {
      return fault(`composited variable ${goQuote(name)} fails to compile: ${error ?? ""}`);
    }
    const { value, cost } = program.evaluate(this.bindings, { costLimit: defaultCostLimit });
    this.#cost += cost;
    if (!(value instanceof Fault)) return value;
    return fault(`composited variable ${goQuote(name)} fails to evaluate: ${value.message}`);
  }

  /** What computing variables has cost since the last call. */
  takeCost(): number {
    const cost = this.#cost;
    this.#cost = 0;
    return cost;
  }
}
