/** Common Expression Language, as Kubernetes speaks it. */
export { Environment, type EnvironmentOptions, type ObjectDecl } from "./environment.ts";
export { CelError, type CelErrorCode, type CelIssue, CelIssues } from "./errors.ts";
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
export type {
  CompiledRules,
  CompileRulesOptions,
  RuleFieldError,
  RuleSchema,
  RuleValidation,
  ValidateRulesInput,
  ValidationRule,
} from "./kubernetes/types.ts";
export { compileRules } from "./kubernetes.ts";
export {
  compile,
  defaultCostLimit,
  type EvaluateOptions,
  type Evaluation,
  Program,
} from "./program.ts";
export {
  type CelType,
  listType,
  mapType,
  objectType,
  optionalType,
  types,
} from "./types.ts";
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
} from "./values.ts";
