/** Controllers and what runs them. */

export type {
  Cause,
  Connection,
  ConnectTarget,
  Context,
  CronResult,
  Decoration,
  Desired,
  GrantedClient,
  ManyHandle,
  OneHandle,
  RunningControllers,
  ServerFacts,
  Startable,
  StatusOf,
  StepAttempt,
} from "./controller/context.ts";
export {
  type Backoff,
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
  type Wake,
  type WakeRequest,
  type Wakes,
} from "./controller/controller.ts";
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
  type PollRead,
  type PollWorld,
  poll,
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
} from "./controller/declaration.ts";
export {
  adoptAnnotation,
  controllerLabel,
  fieldManagerOf,
  finalizerOf,
  keyLabel,
  ownerLabel,
  ownerNamespaceLabel,
  slotLabel,
} from "./controller/labels.ts";
export {
  type Done,
  done,
  type Failed,
  fail,
  type Outcome,
  type OutcomeOptions,
  type Waiting,
  waiting,
} from "./controller/outcome.ts";
export type { AnyController } from "./controller/permissions.ts";
export type { RawController } from "./controller/raw-controller.ts";
export { RuntimeError, type RuntimeErrorCode } from "./errors.ts";
export type { LeaderElectionOptions } from "./leader/election.ts";
export type { LeaseTimings } from "./leader/lease.ts";
export { type Logger, type LogLevel, silentLogger } from "./log/logger.ts";
export { pinoLogger } from "./log/pino-logger.ts";
export type { EndpointOptions } from "./operator/endpoints.ts";
export { type Installable, type InstallOptions, install } from "./operator/install.ts";
export type { MetricFamily } from "./operator/metric-text.ts";
export { type Operator, operator } from "./operator/operator.ts";
export type { OperatorOptions } from "./operator/options.ts";
export { type PolicyRule, type RoleOptions, roleFor, type WebhookRole } from "./operator/role.ts";
export type { RunningOperator } from "./operator/running.ts";
export {
  type Connector,
  type ConnectScope,
  directConnector,
  forwardConnector,
} from "./reconcile/connector.ts";
export type { CertificateLives } from "./webhook/certificates.ts";
export {
  type ConfigurationObject,
  type ConfigurationOptions,
  type WebhookPlace,
  webhookConfigurations,
  webhookServiceName,
} from "./webhook/configurations.ts";
export {
  type AdmissionPolicy,
  admissionPolicy,
  type PolicyDefinition,
  type PolicyObject,
  type PolicyValidation,
} from "./webhook/policy.ts";
export {
  type AdmissionOperation,
  type AdmissionRequest,
  type AdmissionUser,
  type Denied,
  deny,
  type LabelSelector,
  type Webhook,
  type WebhookDefinition,
  type WebhookMatch,
  webhook,
} from "./webhook/webhook.ts";
export type { WebhookServerOptions } from "./webhook/webhooks.ts";
