/** The controllers and the scheduler of the embedded cluster. */
export {
  type BuiltinControllersOptions,
  builtinControllers,
  type StartControllersOptions,
  startControllers,
} from "./builtin-controllers.ts";
export {
  certificateApprover,
  certificateCleaner,
  certificateSigner,
} from "./certificates/certificate-controllers.ts";
export { cronJobController } from "./cronjob/cron-job-controller.ts";
export { daemonSetController } from "./daemonset/daemon-set-controller.ts";
export { deploymentController } from "./deployment/deployment-controller.ts";
export { disruptionController } from "./disruption/disruption-controller.ts";
export { endpointsController } from "./endpoints/endpoints-controller.ts";
export { endpointSliceMirroringController } from "./endpoints/mirroring-controller.ts";
export { endpointSliceController } from "./endpoints/slice-controller.ts";
export { garbageCollector } from "./garbage-collector/garbage-collector-controller.ts";
export { jobController } from "./job/job-controller.ts";
export { ttlAfterFinishedController } from "./job/ttl-controller.ts";
export { namespaceController } from "./namespace/namespace-controller.ts";
export { nodeLifecycleController } from "./nodes/node-lifecycle-controller.ts";
export { taintEvictionController } from "./nodes/taint-eviction-controller.ts";
export { podGarbageCollector } from "./pod-gc/pod-gc-controller.ts";
export { quotaController } from "./quota/quota-controller.ts";
export { replicaSetController, replicationController } from "./replicas/replica-controller.ts";
export { scheduler } from "./scheduler/scheduler.ts";
export { rootCaPublisher, serviceAccountController } from "./service-account/service-account-controller.ts";
export {
  type TokenSecretsOptions,
  tokenSecretsController,
} from "./service-account/token-secrets-controller.ts";
export { statefulSetController } from "./statefulset/stateful-set-controller.ts";
export { localVolumeProvisioner } from "./volumes/local-provisioner.ts";
export { type VolumeControllersOptions, volumeControllers } from "./volumes/volume-controllers.ts";
