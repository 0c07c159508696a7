/** Controllers and what runs them. */

export type { IndexFunction } from "./cache-indexes.ts";
export { type Connector, type ConnectScope, directConnector, forwardConnector } from "./connect.ts";
export type {
  Cause,
  Connection,
  ConnectTarget,
  Context,
  CronResult,
  Desired,
  GrantedClient,
  ManyHandle,
  OneHandle,
  StatusOf,
  StepAttempt,
} from "./context.ts";
export {
  type Children,
  type Compose,
  type Composition,
  type Controller,
  type ControllerDefinition,
  type ControllerOptions,
  controller,
  type Keep,
  keep,
  type Reconcile,
} from "./controller.ts";
export {
  type AllRead,
  all,
  allow,
  allowSubresource,
  type Grant,
  many,
  type Owned,
  type OwnOptions,
  type Owns,
  own,
  type Read,
  type Reads,
  type RefRead,
  ref,
  retired,
  type Selection,
  type SelectRead,
  select,
  type Verb,
  type Writes,
} from "./declaration.ts";
export type { LeaderElectionOptions } from "./election.ts";
export type { EndpointOptions } from "./endpoints.ts";
export { RuntimeError, type RuntimeErrorCode } from "./errors.ts";
export {
  type CacheScope,
  type Change,
  Informer,
  type InformerHealth,
  type InformerOptions,
} from "./informer.ts";
export { InformerSet } from "./informers.ts";
export { type Installable, type InstallOptions, install } from "./install.ts";
export {
  adoptAnnotation,
  controllerLabel,
  fieldManagerOf,
  finalizerOf,
  keyLabel,
  ownerLabel,
  slotLabel,
} from "./labels.ts";
export type { LeaseTimings } from "./lease.ts";
export type { Logger } from "./logger.ts";
export { silentLogger } from "./logger.ts";
export { type MetricFamily, metricText } from "./metrics.ts";
export { type CacheReader, ObjectCache } from "./object-cache.ts";
export {
  type AnyController,
  type Operator,
  type OperatorOptions,
  operator,
  type RunningOperator,
} from "./operator.ts";
export {
  type Done,
  done,
  type Failed,
  fail,
  type Outcome,
  type OutcomeOptions,
  type Waiting,
  waiting,
} from "./outcome.ts";
export { type Permission, permissionsOf } from "./permissions.ts";
export { type LogLevel, pinoLogger } from "./pino-logger.ts";
export {
  cached,
  controllerOf,
  controllerUid,
  type RawContext,
  type RawController,
  type RawDefinition,
  type RawWatch,
  type RawWatchOptions,
  rawController,
  watch,
} from "./raw-controller.ts";
export { type Readiness, readinessOf } from "./readiness.ts";
export { type PolicyRule, type RoleOptions, roleFor } from "./role.ts";
export {
  type AddOptions,
  type Priority,
  type QueueObserver,
  type WorkItem,
  WorkQueue,
  type WorkQueueOptions,
} from "./work-queue.ts";
