/**
 * How the built-in kinds print fields that hold nothing, where the schema does not say it.
 *
 * The schema's rule: a required field, and an embedded structure (`default: {}`), is always printed; a list or
 * map that is empty and an optional scalar of zero value is left out. The exceptions, by package, type, field:
 */
type FieldsByPackage = Readonly<Record<string, string>>;

/** Optional scalars that keep a zero the client wrote: `replicas: 0`. */
export const keptZeros: FieldsByPackage = {
  "io.k8s.api.admissionregistration.v1": "MatchResources:matchPolicy MutatingAdmissionPolicySpec:failurePolicy MutatingWebhook:failurePolicy,matchPolicy,reinvocationPolicy,timeoutSeconds NamedRuleWithOperations:scope ParamRef:parameterNotFoundAction RuleWithOperations:scope ServiceReference:path,port ValidatingAdmissionPolicySpec:failurePolicy ValidatingWebhook:failurePolicy,matchPolicy,timeoutSeconds Validation:reason WebhookClientConfig:url",
  "io.k8s.api.apps.v1": "DaemonSetSpec:revisionHistoryLimit DaemonSetStatus:collisionCount DeploymentSpec:progressDeadlineSeconds,replicas,revisionHistoryLimit DeploymentStatus:collisionCount,terminatingReplicas ReplicaSetSpec:replicas ReplicaSetStatus:terminatingReplicas RollingUpdateStatefulSetStrategy:partition StatefulSetSpec:replicas,revisionHistoryLimit StatefulSetStatus:collisionCount",
  "io.k8s.api.autoscaling.v1": "HorizontalPodAutoscalerSpec:minReplicas,targetCPUUtilizationPercentage HorizontalPodAutoscalerStatus:currentCPUUtilizationPercentage,observedGeneration",
  "io.k8s.api.autoscaling.v2": "HPAScalingRules:selectPolicy,stabilizationWindowSeconds HorizontalPodAutoscalerSpec:minReplicas HorizontalPodAutoscalerStatus:observedGeneration MetricTarget:averageUtilization MetricValueStatus:averageUtilization",
  "io.k8s.api.batch.v1": "CronJobSpec:failedJobsHistoryLimit,startingDeadlineSeconds,successfulJobsHistoryLimit,suspend,timeZone JobSpec:activeDeadlineSeconds,backoffLimit,backoffLimitPerIndex,completionMode,completions,managedBy,manualSelector,maxFailedIndexes,parallelism,podReplacementPolicy,suspend,ttlSecondsAfterFinished JobStatus:failedIndexes,ready,terminating PodFailurePolicyOnExitCodesRequirement:containerName SuccessPolicyRule:succeededCount,succeededIndexes",
  "io.k8s.api.certificates.v1": "CertificateSigningRequestSpec:expirationSeconds",
  "io.k8s.api.coordination.v1": "LeaseSpec:holderIdentity,leaseDurationSeconds,leaseTransitions,preferredHolder,strategy",
  "io.k8s.api.core.v1": "AppArmorProfile:localhostProfile AzureDiskVolumeSource:cachingMode,fsType,kind,readOnly CSIVolumeSource:fsType,readOnly ClientIPConfig:timeoutSeconds ClusterTrustBundleProjection:name,optional,signerName ConfigMap:immutable ConfigMapEnvSource:optional ConfigMapKeySelector:optional ConfigMapProjection:optional ConfigMapVolumeSource:defaultMode,optional Container:restartPolicy ContainerStatus:started,stopSignal DownwardAPIVolumeFile:mode DownwardAPIVolumeSource:defaultMode EndpointAddress:nodeName EndpointPort:appProtocol EphemeralContainer:restartPolicy FCVolumeSource:lun FileKeySelector:optional GlusterfsPersistentVolumeSource:endpointsNamespace HostPathVolumeSource:type ISCSIPersistentVolumeSource:initiatorName ISCSIVolumeSource:initiatorName KeyToPath:mode Lifecycle:stopSignal LoadBalancerIngress:ipMode LocalVolumeSource:fsType NodeFeatures:supplementalGroupsPolicy NodeRuntimeHandlerFeatures:recursiveReadOnlyMounts,userNamespaces NodeSwapStatus:capacity PersistentVolumeClaimSpec:storageClassName,volumeAttributesClassName,volumeMode PersistentVolumeClaimStatus:currentVolumeAttributesClassName PersistentVolumeSpec:volumeAttributesClassName,volumeMode PodCertificateProjection:maxExpirationSeconds PodDNSConfigOption:value PodResourceClaim:resourceClaimName,resourceClaimTemplateName PodResourceClaimStatus:resourceClaimName PodSchedulingGroup:podGroupName PodSecurityContext:fsGroup,fsGroupChangePolicy,runAsGroup,runAsNonRoot,runAsUser,seLinuxChangePolicy,supplementalGroupsPolicy PodSpec:activeDeadlineSeconds,automountServiceAccountToken,enableServiceLinks,hostUsers,hostnameOverride,preemptionPolicy,priority,runtimeClassName,setHostnameAsFQDN,shareProcessNamespace,terminationGracePeriodSeconds PortStatus:error Probe:terminationGracePeriodSeconds ProjectedVolumeSource:defaultMode ReplicationControllerSpec:replicas ResourceHealth:message SeccompProfile:localhostProfile Secret:immutable SecretEnvSource:optional SecretKeySelector:optional SecretProjection:optional SecretVolumeSource:defaultMode,optional SecurityContext:allowPrivilegeEscalation,privileged,procMount,readOnlyRootFilesystem,runAsGroup,runAsNonRoot,runAsUser ServiceAccount:automountServiceAccountToken ServiceAccountTokenProjection:expirationSeconds ServicePort:appProtocol ServiceSpec:allocateLoadBalancerNodePorts,internalTrafficPolicy,ipFamilyPolicy,loadBalancerClass,trafficDistribution Toleration:tolerationSeconds TopologySpreadConstraint:minDomains,nodeAffinityPolicy,nodeTaintsPolicy TypedObjectReference:namespace VolumeMount:mountPropagation,recursiveReadOnly VolumeMountStatus:recursiveReadOnly WindowsSecurityContextOptions:gmsaCredentialSpec,gmsaCredentialSpecName,hostProcess,runAsUserName",
  "io.k8s.api.discovery.v1": "Endpoint:hostname,nodeName,zone EndpointConditions:ready,serving,terminating EndpointPort:appProtocol,name,port,protocol",
  "io.k8s.api.flowcontrol.v1": "ExemptPriorityLevelConfiguration:lendablePercent,nominalConcurrencyShares LimitedPriorityLevelConfiguration:borrowingLimitPercent,lendablePercent",
  "io.k8s.api.networking.v1": "IngressClassParametersReference:apiGroup,namespace IngressPortStatus:error IngressSpec:ingressClassName NetworkPolicyPort:endPort,protocol",
  "io.k8s.api.policy.v1": "PodDisruptionBudgetSpec:unhealthyPodEvictionPolicy",
  "io.k8s.api.resource.v1": "AllocatedDeviceStatus:shareID Device:allNodes,allowMultipleAllocations,bindsToNode,nodeName DeviceAttribute:bool,int,string,version DeviceClassSpec:extendedResourceName DeviceConstraint:distinctAttribute,matchAttribute DeviceRequestAllocationResult:adminAccess,shareID DeviceToleration:tolerationSeconds ExactDeviceRequest:adminAccess NodeAllocatableResourceMapping:capacityKey ResourceSliceSpec:allNodes,nodeName,perDeviceNodeSelection",
  "io.k8s.api.scheduling.v1": "PriorityClass:preemptionPolicy",
  "io.k8s.api.storage.v1": "CSIDriverSpec:attachRequired,fsGroupPolicy,nodeAllocatableUpdatePeriodSeconds,podInfoOnMount,preventPodSchedulingIfMissing,requiresRepublish,seLinuxMount,serviceAccountTokenInSecrets,storageCapacity StorageClass:allowVolumeExpansion,reclaimPolicy,volumeBindingMode TokenRequest:expirationSeconds VolumeAttachmentSource:persistentVolumeName VolumeError:errorCode VolumeNodeResources:count",
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": "CustomResourceDefinitionVersion:deprecationWarning CustomResourceSubresourceScale:labelSelectorPath JSONSchemaProps:$ref,maxItems,maxLength,maxProperties,maximum,minItems,minLength,minProperties,minimum,multipleOf,x-kubernetes-list-type,x-kubernetes-map-type,x-kubernetes-preserve-unknown-fields ServiceReference:path,port ValidationRule:optionalOldSelf,reason WebhookClientConfig:url",
  "io.k8s.apimachinery.pkg.apis.meta.v1": "DeleteOptions:gracePeriodSeconds,ignoreStoreReadErrorWithClusterBreakingPotential,orphanDependents,propagationPolicy ListMeta:remainingItemCount ObjectMeta:deletionGracePeriodSeconds OwnerReference:blockOwnerDeletion,controller Preconditions:resourceVersion,uid",
  "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1": "ServiceReference:port",
};

/** Fields that are printed as `null` when absent. */
export const printedNulls: FieldsByPackage = {
  "io.k8s.api.admissionregistration.v1": "MutatingWebhook:sideEffects ValidatingWebhook:sideEffects",
  "io.k8s.api.apps.v1": "DaemonSetCondition:lastTransitionTime DeploymentCondition:lastTransitionTime,lastUpdateTime ReplicaSetCondition:lastTransitionTime StatefulSetCondition:lastTransitionTime",
  "io.k8s.api.authentication.v1": "TokenRequestSpec:audiences,boundObjectRef,expirationSeconds TokenRequestStatus:expirationTimestamp",
  "io.k8s.api.autoscaling.v2": "HorizontalPodAutoscalerCondition:lastTransitionTime HorizontalPodAutoscalerStatus:currentMetrics",
  "io.k8s.api.batch.v1": "JobCondition:lastProbeTime,lastTransitionTime",
  "io.k8s.api.certificates.v1": "CertificateSigningRequestCondition:lastTransitionTime,lastUpdateTime",
  "io.k8s.api.core.v1": "AzureFilePersistentVolumeSource:secretNamespace ContainerImage:names ContainerStateRunning:startedAt ContainerStateTerminated:finishedAt,startedAt Event:eventTime,firstTimestamp,lastTimestamp EventSeries:lastObservedTime GRPCAction:service NamespaceCondition:lastTransitionTime NodeCondition:lastHeartbeatTime,lastTransitionTime PersistentVolumeClaimCondition:lastProbeTime,lastTransitionTime PodCondition:lastProbeTime,lastTransitionTime ProjectedVolumeSource:sources ReplicationControllerCondition:lastTransitionTime TypedLocalObjectReference:apiGroup TypedObjectReference:apiGroup",
  "io.k8s.api.discovery.v1": "EndpointSlice:endpoints,ports",
  "io.k8s.api.events.v1": "Event:deprecatedFirstTimestamp,deprecatedLastTimestamp,eventTime EventSeries:lastObservedTime",
  "io.k8s.api.flowcontrol.v1": "FlowSchemaCondition:lastTransitionTime LimitedPriorityLevelConfiguration:nominalConcurrencyShares PriorityLevelConfigurationCondition:lastTransitionTime ResourcePolicyRule:namespaces",
  "io.k8s.api.networking.v1": "HTTPIngressPath:pathType IngressClassParametersReference:scope",
  "io.k8s.api.rbac.v1": "ClusterRole:rules Role:rules",
  "io.k8s.api.resource.v1": "AllocatedDeviceStatus:conditions CapacityRequestPolicy:default DeviceClaim:requests",
  "io.k8s.api.storage.v1": "CSINodeDriver:topologyKeys VolumeError:time",
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": "CustomResourceDefinitionCondition:lastTransitionTime CustomResourceDefinitionStatus:conditions,storedVersions",
  "io.k8s.apimachinery.pkg.apis.meta.v1": "Condition:lastTransitionTime",
  "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1": "APIServiceCondition:lastTransitionTime",
};

/** Fields that are left out when empty although the schema requires them or gives them a zero default. */
export const omittedEmpties: FieldsByPackage = {
  "io.k8s.api.admissionregistration.v1": "ValidatingAdmissionPolicyBindingSpec:policyName,validationActions",
  "io.k8s.api.authentication.v1": "TokenReviewSpec:token",
  "io.k8s.api.autoscaling.v1": "ScaleSpec:replicas",
  "io.k8s.api.core.v1": "ContainerRestartRule:action ContainerRestartRuleOnExitCodes:operator ImageVolumeStatus:imageRef LocalObjectReference:name PodCertificateProjection:keyType,signerName ReplicationControllerSpec:minReadySeconds",
  "io.k8s.api.networking.v1": "IPAddressSpec:parentRef ParentReference:name,resource",
  "io.k8s.api.resource.v1": "CapacityRequestPolicyRange:min CounterSet:counters DeviceCounterConsumption:counters",
};
