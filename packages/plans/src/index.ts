/** Plans of phases and steps, for resources in TypeScript and in YAML. */
export {
  PlanDefinition,
  type PlanDefinitionObject,
  type PlannedKind,
  plannedKind,
} from "./api/definition.ts";
export type { CallAnswer, CallAttempt, Phase, Plan, Plans, Step } from "./api/plan.ts";
export { type PlanStatus, planColumns, planStatus, type RunState, runStates } from "./api/status.ts";
export { planHost } from "./controller/host.ts";
export { type PlanControllerDefinition, planController } from "./controller/plan-controller.ts";
export { isPlanDefinition, type PlannedController, planControllers } from "./controller/plan-controllers.ts";
export { cancelAnnotation, runAnnotation } from "./engine/run-plans.ts";
export { PlanError, type PlanErrorCode } from "./errors.ts";
