/** All controllers that a cluster needs to be one, and their life in one process. */
import type { Client } from "@keelson/client";
import type { KeyPair } from "@keelson/pki";
import { type OperatorOptions, operator, type RawController, type RunningOperator } from "@keelson/runtime";
import { horizontalAutoscaler } from "./autoscaler/horizontal-autoscaler-controller.ts";
import {
  certificateApprover,
  certificateCleaner,
  certificateSigner,
} from "./certificates/certificate-controllers.ts";
import { clusterRoleAggregationController } from "./cluster-role/aggregation-controller.ts";
import { cronJobController } from "./cronjob/cron-job-controller.ts";
import { daemonSetController } from "./daemonset/daemon-set-controller.ts";
import { deploymentController } from "./deployment/deployment-controller.ts";
import { disruptionController } from "./disruption/disruption-controller.ts";
import { staleDisruptionController } from "./disruption/stale-target-controller.ts";
import { endpointsController } from "./endpoints/endpoints-controller.ts";
import { endpointSliceMirroringController } from "./endpoints/mirroring-controller.ts";
import { endpointSliceController } from "./endpoints/slice-controller.ts";
import { garbageCollector } from "./garbage-collector/garbage-collector-controller.ts";
import { jobController } from "./job/job-controller.ts";
import { ttlAfterFinishedController } from "./job/ttl-controller.ts";
import { namespaceController } from "./namespace/namespace-controller.ts";
import type { HealthTimings } from "./nodes/node-health.ts";
import { nodeLifecycleController } from "./nodes/node-lifecycle-controller.ts";
import { taintEvictionController } from "./nodes/taint-eviction-controller.ts";
import { podGarbageCollector } from "./pod-gc/pod-gc-controller.ts";
import { quotaController } from "./quota/quota-controller.ts";
import { replicaSetController, replicationController } from "./replicas/replica-controller.ts";
import { scheduler } from "./scheduler/scheduler.ts";
import { rootCaPublisher, serviceAccountController } from "./service-account/service-account-controller.ts";
import {
  type TokenSecretsOptions,
  tokenSecretsController,
} from "./service-account/token-secrets-controller.ts";
import { statefulSetController } from "./statefulset/stateful-set-controller.ts";
import { volumeControllers } from "./volumes/volume-controllers.ts";

/** What the controllers of the cluster need of it. */
export interface BuiltinControllersOptions {
  /** An administrator's, for the controllers that deal with kinds of which they learn only at run time. */
  readonly client: Client;
  /** Ends the watches of such kinds: abort it when the operator has stopped. */
  readonly signal: AbortSignal;
  /** The cluster's authority: published in every namespace, and signs certificates that were approved. */
  readonly authority?: KeyPair;
  /** Runs the scheduler too. Default: true. */
  readonly scheduler?: boolean;
  /** How long nodes may be silent. */
  readonly nodeHealth?: HealthTimings;
  /** Signs the tokens of service account secrets. Default: the API server's TokenRequest does. */
  readonly issueToken?: TokenSecretsOptions["issue"];
  /** Where the volumes of the class `standard` are made. Default: in the system's temporary directory. */
  readonly volumesDirectory?: string;
  /** Removes the directory of such a volume. Default: this process does. */
  readonly removeVolume?: (path: string) => Promise<void>;
}

/** All controllers of the embedded cluster, as values: for an operator of your own that runs them. */
export function builtinControllers(options: BuiltinControllersOptions): RawController[] {
  const {
    client,
    signal,
    authority,
    issueToken,
    nodeHealth,
    volumesDirectory: directory,
    removeVolume,
  } = options;
  return [
    replicaSetController(),
    replicationController(),
    deploymentController(),
    statefulSetController(),
    daemonSetController(),
    jobController(),
    cronJobController(),
    ttlAfterFinishedController(),
    ...(options.scheduler === false ? [] : [scheduler()]),
    endpointsController(),
    endpointSliceController(),
    endpointSliceMirroringController(),
    namespaceController({ client }),
    garbageCollector({ client, signal }),
    serviceAccountController(),
    clusterRoleAggregationController(),
    tokenSecretsController({
      ...(authority ? { certificate: authority.certificate } : {}),
      ...(issueToken ? { issue: issueToken } : {}),
    }),
    nodeLifecycleController(nodeHealth),
    taintEvictionController(),
    podGarbageCollector(),
    disruptionController({ client }),
    staleDisruptionController(),
    quotaController({ client }),
    horizontalAutoscaler({ client }),
    ...volumeControllers({
      ...(directory === undefined ? {} : { directory }),
      ...(removeVolume === undefined ? {} : { remove: removeVolume }),
    }),
    certificateApprover(),
    certificateCleaner(),
    ...(authority ? [rootCaPublisher(authority), certificateSigner({ authority })] : []),
  ];
}

/** What {@link startControllers} needs: a client, and optionally a clock and a logger. */
export type StartControllersOptions = Omit<BuiltinControllersOptions, "signal"> &
  Pick<OperatorOptions, "log" | "world">;

/** Runs all controllers in this process. Resolves when their caches are complete; `stop` ends every watch. */
export async function startControllers(options: StartControllersOptions): Promise<RunningOperator> {
  const { log, world, ...rest } = options;
  const end = new AbortController();
  const running = await operator({
    name: "kube-controller-manager",
    controllers: builtinControllers({ ...rest, signal: end.signal }),
    client: options.client,
    leaderElection: false,
    endpoints: false,
    ...(log ? { log } : {}),
    ...(world ? { world } : {}),
  }).start();
  const stop = async () => {
    end.abort();
    await running.stop();
  };
  return Object.assign(Object.create(running) as RunningOperator, { stop, [Symbol.asyncDispose]: stop });
}
