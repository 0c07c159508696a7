/**
 * Common Expression Language, as Kubernetes 1.36 speaks it.
 *
 * ```ts
 * const program = compile("size(names) <= limit", kubernetesEnvironment.extend({
 *   variables: { names: listType(types.string), limit: types.int },
 * }));
 * if (program instanceof CelIssues) throw program.toError();
 * program.evaluate({ names: new ArrayList(["a"]), limit: 3 }, { costLimit: 10_000 }).value; // true
 * ```
 *
 * Values are described in values.ts, cost in cost.ts. `compileRules` runs the `x-kubernetes-validations` of a
 * schema, `AdmissionCompiler` the expressions of policies and webhooks; the libraries are here for
 * environments of one's own.
 *
 * Measured against cel-spec's conformance tests (those that need no protobuf): 1588 of 1625 pass. The rest
 * want what Kubernetes does not do: evaluation without type checking (28), map literals that refuse repeated
 * or odd keys (4), bounds of `indexOf` and presence tests that later versions made stricter (4), one type
 * deduction.
 */
export { Environment, type EnvironmentOptions, type ObjectDecl } from "./check/environment.ts";
export {
  AdmissionCompiler,
  type AdmissionEvaluation,
  type AdmissionExpression,
  type AdmissionInput,
  type AdmissionOptions,
  type AdmissionResult,
  admissionCostBudget,
  matchConditionsCostBudget,
} from "./kubernetes/admission.ts";
export { applyConfigurationType, jsonPatchListType } from "./kubernetes/admission-types.ts";
export { compileRules } from "./kubernetes/compile-rules.ts";
export { fromJson, toJson } from "./kubernetes/dynamic-json.ts";
export { kubernetesEnvironment } from "./kubernetes/environment.ts";
export {
  type AuthorizerAnswer,
  type AuthorizerQuestion,
  type AuthorizerUser,
  authorizerValue,
  type CelAuthorizer,
  resourceAuthorizerValue,
} from "./kubernetes/library/authorizer.ts";
export { parseFormattedDuration } from "./kubernetes/library/string-formats.ts";
export type {
  CompiledRules,
  CompileRulesOptions,
  RuleFieldError,
  RuleSchema,
  RuleValidation,
  ValidateRulesInput,
  ValidationRule,
} from "./kubernetes/types.ts";
export { bindingsLibrary } from "./library/bindings.ts";
export { twoVariableLibrary } from "./library/comprehensions.ts";
export { encodersLibrary } from "./library/encoders.ts";
export { listsLibrary } from "./library/lists.ts";
export { mathLibrary } from "./library/math.ts";
export { optionalLibrary } from "./library/optionals.ts";
export { setsLibrary } from "./library/sets.ts";
export { standardLibrary } from "./library/standard.ts";
export { stringsLibrary } from "./library/strings.ts";
export {
  compile,
  defaultCostLimit,
  type EvaluateOptions,
  type Evaluation,
  Program,
} from "./program/program.ts";
export { CelError, type CelErrorCode, type CelIssue, CelIssues } from "./syntax/errors.ts";
export { compilePattern, MatchBudget } from "./values/regex.ts";
export { type CelType, listType, mapType, objectType, optionalType, types } from "./values/types.ts";
export {
  ArrayList,
  CelList,
  CelMap,
  type CelValue,
  Double,
  Duration,
  EntryMap,
  Fault,
  Optional,
  Timestamp,
  Uint,
} from "./values/values.ts";
