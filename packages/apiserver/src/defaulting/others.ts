/** Defaults of the smaller API groups. */
import type {
  ClusterRoleBinding,
  CSIDriver,
  EndpointSlice,
  FlowSchema,
  HorizontalPodAutoscaler,
  IngressClass,
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  NetworkPolicy,
  PriorityClass,
  PriorityLevelConfiguration,
  RoleBinding,
  RuntimeClass,
  StorageClass,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from "@keelson/core/kinds";
import { roundToMilli } from "./pod-spec.ts";

const rbacGroup = "rbac.authorization.k8s.io";

export function defaultBinding(binding: RoleBinding | ClusterRoleBinding): void {
  const ref = binding.roleRef;
  if (ref) ref.apiGroup ||= rbacGroup;
  for (const subject of binding.subjects ?? [])
    if (!subject.apiGroup && (subject.kind === "User" || subject.kind === "Group"))
      subject.apiGroup = rbacGroup;
}

export function defaultNetworkPolicy(policy: NetworkPolicy): void {
  const spec = policy.spec;
  if (!spec) return;
  if (!spec.policyTypes?.length) spec.policyTypes = spec.egress?.length ? ["Ingress", "Egress"] : ["Ingress"];
  for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])])
    for (const port of rule.ports ?? []) port.protocol ??= "TCP";
}

export function defaultIngressClass(object: IngressClass): void {
  const parameters = object.spec?.parameters;
  if (parameters) parameters.scope ??= "Cluster";
}

export function defaultEndpointSlice(slice: EndpointSlice): void {
  for (const port of slice.ports ?? []) {
    port.name ??= "";
    port.protocol ??= "TCP";
  }
}

export function defaultPriorityClass(object: PriorityClass): void {
  object.preemptionPolicy ??= "PreemptLowerPriority";
}

export function defaultStorageClass(object: StorageClass): void {
  object.reclaimPolicy ??= "Delete";
  object.volumeBindingMode ??= "Immediate";
}

export function defaultCsiDriver(driver: CSIDriver): void {
  const spec = driver.spec;
  if (!spec) return;
  spec.attachRequired ??= true;
  spec.podInfoOnMount ??= false;
  spec.storageCapacity ??= false;
  spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
  if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ["Persistent"];
  spec.requiresRepublish ??= false;
  spec.seLinuxMount ??= false;
}

export function defaultRuntimeClass(object: RuntimeClass): void {
  roundToMilli(object.overhead?.podFixed);
}

type ScalingRules = NonNullable<
  NonNullable<NonNullable<HorizontalPodAutoscaler["spec"]>["behavior"]>["scaleUp"]
>;

const scaleUp: ScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
};
const scaleDown: ScalingRules = {
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
};

export function defaultAutoscaler(autoscaler: HorizontalPodAutoscaler, version: string): void {
  const spec = autoscaler.spec;
  if (!spec) return;
  spec.minReplicas ??= 1;
  if (version === "v1") {
    const older = spec as { targetCPUUtilizationPercentage?: number };
    const { annotations } = autoscaler.metadata ?? {};
    if (annotations?.["autoscaling.alpha.kubernetes.io/metrics"] === undefined)
      older.targetCPUUtilizationPercentage ??= 80;
    return;
  }
  if (!spec.metrics?.length)
    spec.metrics = [
      {
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
      },
    ];
  if (!spec.behavior) return;
  spec.behavior.scaleUp = { ...structuredClone(scaleUp), ...spec.behavior.scaleUp };
  spec.behavior.scaleDown = { ...structuredClone(scaleDown), ...spec.behavior.scaleDown };
}

export function defaultFlowSchema(schema: FlowSchema): void {
  if (schema.spec) schema.spec.matchingPrecedence ||= 1000;
}

export function defaultPriorityLevel(level: PriorityLevelConfiguration): void {
  const { exempt, limited } = level.spec ?? {};
  if (exempt) {
    exempt.nominalConcurrencyShares ??= 0;
    exempt.lendablePercent ??= 0;
  }
  if (!limited) return;
  limited.nominalConcurrencyShares ??= 30;
  limited.lendablePercent ??= 0;
  const queuing = limited.limitResponse?.queuing;
  if (!queuing) return;
  queuing.handSize ||= 8;
  queuing.queues ||= 64;
  queuing.queueLengthLimit ||= 50;
}

function defaultWebhook(webhook: Partial<ValidatingWebhook>): void {
  webhook.failurePolicy ??= "Fail";
  webhook.matchPolicy ??= "Equivalent";
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= 10;
  for (const rule of webhook.rules ?? []) rule.scope ??= "*";
  const service = webhook.clientConfig?.service;
  if (service) service.port ??= 443;
}

export function defaultValidatingWebhooks(configuration: ValidatingWebhookConfiguration): void {
  for (const webhook of configuration.webhooks ?? []) defaultWebhook(webhook);
}

export function defaultMutatingWebhooks(configuration: MutatingWebhookConfiguration): void {
  for (const webhook of configuration.webhooks ?? []) {
    defaultWebhook(webhook);
    webhook.reinvocationPolicy ??= "Never";
  }
}

function defaultMatchResources(match: MatchResources | undefined): void {
  if (!match) return;
  match.matchPolicy ??= "Equivalent";
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of match.resourceRules ?? []) rule.scope ??= "*";
  for (const rule of match.excludeResourceRules ?? []) rule.scope ??= "*";
}

export function defaultAdmissionPolicy(policy: ValidatingAdmissionPolicy | MutatingAdmissionPolicy): void {
  if (!policy.spec) return;
  policy.spec.failurePolicy ??= "Fail";
  defaultMatchResources(policy.spec.matchConstraints);
}

export function defaultAdmissionPolicyBinding(
  binding: ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding,
): void {
  defaultMatchResources(binding.spec?.matchResources);
}
