/** What our own packages need of the runtime. No promise is made for it: it may change in any release. */

export type { IndexFunction } from "./cache/cache-indexes.ts";
export {
  type CacheScope,
  type Change,
  Informer,
  type InformerHealth,
  type InformerOptions,
} from "./cache/informer.ts";
export { InformerSet } from "./cache/informer-set.ts";
export { type CacheReader, ObjectCache } from "./cache/object-cache.ts";
export { type Readiness, readinessOf } from "./children/readiness.ts";
export { type Permission, permissionsOf } from "./controller/permissions.ts";
export {
  cached,
  controllerOf,
  controllerUid,
  type RawApplyOptions,
  type RawContext,
  type RawDefinition,
  type RawWatch,
  type RawWatchOptions,
  rawController,
  watch,
} from "./controller/raw-controller.ts";
export { listeningBy } from "./operator/in-process.ts";
export { whenServed } from "./operator/install.ts";
export { metricText } from "./operator/metric-text.ts";
export { operatorEnvironment, operatorFlags } from "./operator/node-flags.ts";
export { webhookRole } from "./operator/role.ts";
export { internalsOf, type OperatorInternals } from "./operator/running.ts";
export {
  type AddOptions,
  type Priority,
  type QueueObserver,
  type WorkItem,
  WorkQueue,
  type WorkQueueOptions,
} from "./queue/work-queue.ts";
export { operatorChannel, type ReconcileReport, reconcileChannel } from "./reconcile/report.ts";
export type { WebhookAnswer } from "./webhook/answer.ts";
export type { Certificates } from "./webhook/certificates.ts";
export { convertedAmong, convertedCrd, webhookPermissions } from "./webhook/configurations.ts";
export type { Answer, Listen, WebhookListener } from "./webhook/listener.ts";
