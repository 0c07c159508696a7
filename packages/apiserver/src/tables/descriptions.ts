/** What kinds and fields are for, in our own words: `kubectl explain` shows them. */
import { lookupTable } from "@keelson/core/internal";
import type { Schema } from "./notation/schema.ts";

/** A definition, then its fields; those that every kind has are told once. */
const text = `
io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta: What every stored object has: its identity, its labels, who owns it, and its place in time.
  annotations: Any text by key, for tools and people; nothing can be selected by it.
  creationTimestamp: CreationTimestamp is a timestamp of when the server stored the object. Clients do not set it.
  deletionGracePeriodSeconds: Seconds that the object has to end by itself once its deletion was asked for.
  deletionTimestamp: When the object is to be gone; set by the server once its deletion was asked for.
  finalizers: Who has to agree before the object is removed. A deleted object stays until the list is empty.
  generateName: A prefix from which the server makes a name that is free, when no name is given.
  generation: Grows with every change of what is wanted; status fields named observedGeneration refer to it.
  labels: Keys and values that selectors match.
  managedFields: Which manager owns which fields, for server-side apply.
  name: The object's name, unique among objects of its kind in its namespace. It cannot be changed.
  namespace: The namespace that the object is in; empty for kinds that belong to the whole cluster.
  ownerReferences: Objects that this one belongs to; when all of them are gone, it is collected.
  resourceVersion: The version of the object, for optimistic concurrency and watches. Only its equality means something.
  uid: The object's identity over all time: another object of the same name has another.
io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference: Names an object that another one belongs to, in the same namespace or of the cluster.
  blockOwnerDeletion: A foreground deletion of the owner waits until this object is gone.
  controller: Whether the owner is the one that manages this object; at most one is.
  name: The owner's name.
  uid: The owner's UID; a new object of the same name is not the owner.
io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector: Selects objects by their labels; all requirements have to hold. An empty one selects everything.
  matchExpressions: Requirements with an operator: In, NotIn, Exists or DoesNotExist.
  matchLabels: Labels with exactly these values.
io.k8s.apimachinery.pkg.apis.meta.v1.Condition: One aspect of an object's state, with the reason and the time of its last change.
  lastTransitionTime: When the status last changed.
  message: For people: what happened.
  observedGeneration: The generation that the condition was decided on.
  reason: A word for the cause, in CamelCase.
  status: True, False or Unknown.
  type: What the condition is about.
io.k8s.api.core.v1.Pod: Containers that run together on one node and share its network, its volumes and their fate.
  spec: What should run, and how.
  status: What runs, as the node sees it.
io.k8s.api.core.v1.PodSpec: What a pod runs and where it may run.
  activeDeadlineSeconds: The pod is ended and fails when it has run for this long.
  affinity: Rules about nodes and other pods that decide where the pod may or should be.
  automountServiceAccountToken: Whether containers get a token of the pod's service account. Default: as the account says.
  containers: The containers that run side by side; there is at least one.
  dnsConfig: Name servers, search domains and options beside those of the policy.
  dnsPolicy: Where names are looked up: ClusterFirst, ClusterFirstWithHostNet, Default or None.
  ephemeralContainers: Containers that were added for debugging, by the ephemeralcontainers subresource.
  hostAliases: Lines that are added to the pod's /etc/hosts.
  hostIPC: Shares the node's IPC namespace.
  hostNetwork: Uses the node's network instead of one of its own.
  hostPID: Sees the node's processes.
  hostname: The pod's host name. Default: the pod's name.
  imagePullSecrets: Secrets with credentials for registries.
  initContainers: Run to their end one after the other before the containers start; with restartPolicy Always they stay as sidecars.
  nodeName: The node that the pod is on. The scheduler sets it; a pod that sets it itself is not scheduled.
  nodeSelector: Labels that the node must have.
  overhead: What running the pod takes beside its containers, by its runtime class.
  preemptionPolicy: Whether less important pods may be evicted for it: PreemptLowerPriority or Never.
  priority: Its importance as a number, taken from the priority class.
  priorityClassName: The priority class that decides how important the pod is.
  resources: Requests and limits of the pod as a whole.
  restartPolicy: When containers that end are started again: Always, OnFailure or Never. Default: Always.
  runtimeClassName: The runtime class that runs the pod.
  schedulerName: The scheduler that places the pod.
  schedulingGates: The pod is not scheduled before this list is empty.
  securityContext: Users, groups and other security settings of all containers.
  serviceAccountName: The account that the pod acts as. Default: default.
  setHostnameAsFQDN: The host name is the fully qualified one.
  shareProcessNamespace: Containers see each other's processes.
  subdomain: With it the pod has a DNS name below the service of this name.
  terminationGracePeriodSeconds: Seconds between the request to end and the kill. Default: 30.
  tolerations: Taints of nodes that the pod puts up with.
  topologySpreadConstraints: How evenly such pods are spread over zones, nodes and the like.
  volumes: Storage that containers of the pod can mount.
io.k8s.api.core.v1.PodStatus: What a node reports of a pod.
  conditions: Whether the pod is scheduled, initialized and ready.
  containerStatuses: The state of each container.
  hostIP: The address of its node.
  message: For people: why the pod is in this state.
  nominatedNodeName: The node where room is being made for it.
  phase: Pending, Running, Succeeded, Failed or Unknown, in one word.
  podIP: The pod's address.
  podIPs: Its addresses, one for each family.
  qosClass: Guaranteed, Burstable or BestEffort, from its requests and limits.
  reason: A word for why it is in this state, as Evicted.
  startTime: When the node took the pod.
io.k8s.api.core.v1.Container: One program in a pod.
  args: Arguments of the program. Default: those of the image.
  command: The program with its first arguments, instead of the image's entrypoint.
  env: Variables of the environment.
  envFrom: ConfigMaps and Secrets of which every key is a variable.
  image: The image that the program comes from.
  imagePullPolicy: Always, IfNotPresent or Never. Default: Always for the tag latest, else IfNotPresent.
  lifecycle: What is run after the container starts and before it ends.
  livenessProbe: Asks whether the container still works; one that does not is restarted.
  name: The container's name, unique in the pod.
  ports: Ports that the container listens on; a port need not be listed to be reached.
  readinessProbe: Asks whether the container can take requests; a pod that cannot gets none from services.
  resizePolicy: Whether a change of resources restarts the container.
  resources: What the container needs and may take at most.
  restartPolicy: Always makes an init container a sidecar.
  securityContext: Security settings of this container; they win over those of the pod.
  startupProbe: Asks whether the container has started; the other probes wait for it.
  stdin: Keeps standard input open, for attach.
  terminationMessagePath: A file whose contents become the container's last message. Default: /dev/termination-log.
  terminationMessagePolicy: File, or FallbackToLogsOnError to use the end of the log when the file is empty.
  tty: Gives the container a terminal.
  volumeDevices: Raw block devices that the container gets.
  volumeMounts: Where volumes of the pod are in the container's file system.
  workingDir: The directory that the program starts in. Default: that of the image.
io.k8s.api.core.v1.ContainerPort: A port that a container listens on.
  containerPort: The port's number in the pod.
  hostIP: The address of the node that the host port is bound to. Default: all.
  hostPort: A port of the node that leads to the container; at most one pod of a node can have it.
  name: A name for the port, which services can use.
  protocol: TCP, UDP or SCTP. Default: TCP.
io.k8s.api.core.v1.EnvVar: A variable of a container's environment.
  name: The variable's name.
  value: Its value; $(NAME) stands for another variable.
  valueFrom: Where the value comes from: a field of the pod, a resource, a ConfigMap or a Secret.
io.k8s.api.core.v1.Probe: A question that the node asks a container again and again.
  exec: Runs a command; exit status 0 is good.
  failureThreshold: Failures in a row that count. Default: 3.
  grpc: Asks a gRPC health service.
  httpGet: Sends a GET request; 200 to 399 is good.
  initialDelaySeconds: Seconds after the start before the first question.
  periodSeconds: Seconds between questions. Default: 10.
  successThreshold: Successes in a row that count. Default: 1.
  tcpSocket: Opens a TCP connection.
  terminationGracePeriodSeconds: Grace period of a container that this probe ends.
  timeoutSeconds: Seconds until a question has failed. Default: 1.
io.k8s.api.core.v1.ResourceRequirements: What a container needs and may take.
  claims: Devices that it uses, by the pod's resource claims.
  limits: The most it may take: more CPU is not given, more memory ends it.
  requests: What it needs: the scheduler looks for a node that has it.
io.k8s.api.core.v1.SecurityContext: Security settings of one container.
  allowPrivilegeEscalation: Whether a process can get more privileges than the one that started it.
  capabilities: Linux capabilities that are added or dropped.
  privileged: Runs with all privileges of the node.
  readOnlyRootFilesystem: The container cannot write to its root file system.
  runAsGroup: The group of its processes.
  runAsNonRoot: Refuses to start as root.
  runAsUser: The user of its processes. Default: that of the image.
  seccompProfile: Which system calls it may use.
io.k8s.api.core.v1.PodSecurityContext: Security settings of all containers of a pod.
  fsGroup: The group that volumes belong to.
  runAsGroup: The group of all processes.
  runAsNonRoot: No container may start as root.
  runAsUser: The user of all processes.
  supplementalGroups: More groups of all processes.
  sysctls: Kernel settings of the pod's namespaces.
io.k8s.api.core.v1.VolumeMount: Where a volume is in a container.
  mountPath: The path in the container.
  name: The volume's name in the pod.
  readOnly: The container can only read it.
  subPath: A path inside the volume that is mounted instead of its root.
  subPathExpr: As subPath, with variables of the environment in $(NAME).
io.k8s.api.core.v1.Volume: Storage that a pod's containers can mount; one of its sources is set.
  configMap: Keys of a ConfigMap as files.
  csi: Storage of a CSI driver that lives as long as the pod.
  downwardAPI: Fields of the pod as files.
  emptyDir: A directory that begins empty and lives as long as the pod is on its node.
  ephemeral: A claim that is made for the pod and goes with it.
  hostPath: A path of the node itself.
  image: The contents of an image, to read.
  name: The volume's name, unique in the pod.
  nfs: A share of an NFS server.
  persistentVolumeClaim: A claim in the pod's namespace.
  projected: Several of ConfigMaps, Secrets, fields and tokens in one directory.
  secret: Keys of a Secret as files.
io.k8s.api.core.v1.PodTemplateSpec: The pods that a workload makes.
  spec: What each pod runs.
io.k8s.api.core.v1.Toleration: A taint that a pod puts up with.
  effect: NoSchedule, PreferNoSchedule or NoExecute; empty for all.
  key: The taint's key; empty for all, with the operator Exists.
  operator: Equal or Exists. Default: Equal.
  tolerationSeconds: How long a NoExecute taint is put up with. Default: for ever.
  value: The taint's value, for Equal.
io.k8s.api.core.v1.Service: One address and name for a changing set of pods.
  spec: Which pods, and how they are reached.
  status: Addresses of a load balancer.
io.k8s.api.core.v1.ServiceSpec: Which pods a service leads to, and by which addresses and ports.
  allocateLoadBalancerNodePorts: Whether a LoadBalancer service also has node ports. Default: true.
  clusterIP: Its address in the cluster; None for a headless service, which has the pods' own.
  clusterIPs: Its addresses, one for each family.
  externalIPs: Addresses outside of the cluster's care that nodes also accept.
  externalName: The DNS name that an ExternalName service stands for.
  externalTrafficPolicy: Cluster, or Local to keep the client's address and stay on the node.
  internalTrafficPolicy: Cluster, or Local to use only pods of the client's node.
  ipFamilies: IPv4, IPv6 or both.
  ipFamilyPolicy: SingleStack, PreferDualStack or RequireDualStack.
  loadBalancerClass: Which load balancer is meant.
  ports: The ports that it answers on.
  publishNotReadyAddresses: DNS also names pods that are not ready.
  selector: Labels of the pods; without it somebody else writes its endpoints.
  sessionAffinity: ClientIP leads a client to the same pod each time. Default: None.
  type: ClusterIP, NodePort, LoadBalancer or ExternalName. Default: ClusterIP.
io.k8s.api.core.v1.ServicePort: One port of a service.
  appProtocol: The protocol that is spoken, as http.
  name: The port's name; needed when there are several.
  nodePort: The port of every node that leads to it, for NodePort and LoadBalancer.
  port: The port of the service.
  protocol: TCP, UDP or SCTP. Default: TCP.
  targetPort: The port of the pods, by number or name. Default: the same as port.
io.k8s.api.core.v1.PersistentVolumeClaim: A request for storage that outlives pods.
  spec: What is asked for.
  status: What the claim has got.
io.k8s.api.core.v1.PersistentVolumeClaimSpec: What storage a claim asks for.
  accessModes: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.
  dataSource: A snapshot or another claim that the volume begins as.
  resources: How much storage, under requests.
  selector: Labels that the volume must have.
  storageClassName: The class that makes the volume; empty for none, absent for the default one.
  volumeAttributesClassName: The class of attributes that the driver gives the volume.
  volumeMode: Filesystem or Block. Default: Filesystem.
  volumeName: The volume that the claim is bound to.
io.k8s.api.core.v1.PersistentVolume: A piece of storage of the cluster.
  spec: Where it is and how it may be used.
  status: Whether it is available, bound or released.
io.k8s.api.core.v1.ConfigMap: Settings by key, for pods to read.
  binaryData: Values that are no text, in base64.
  data: Values that are text.
  immutable: Nothing of it can be changed any more.
io.k8s.api.core.v1.Secret: Values that only some may read.
  data: Values by key, in base64.
  immutable: Nothing of it can be changed any more.
  stringData: Values as text, which the server adds to data; it is never read back.
  type: What the secret is for, as kubernetes.io/tls. Default: Opaque.
io.k8s.api.core.v1.ServiceAccount: Who a pod is to the API.
  automountServiceAccountToken: Whether pods get a token. Default: true.
  imagePullSecrets: Credentials for registries that its pods also have.
io.k8s.api.core.v1.Namespace: A part of the cluster with names of its own.
io.k8s.api.core.v1.Node: A machine that runs pods.
  spec: What is wanted of it: taints, and whether it takes pods.
  status: What it has and how it is.
io.k8s.api.core.v1.NodeSpec: What is wanted of a node.
  podCIDR: The addresses of its pods.
  taints: What keeps pods away that do not tolerate it.
  unschedulable: No new pods, as kubectl cordon sets it.
io.k8s.api.core.v1.Event: Something that happened to an object.
io.k8s.api.apps.v1.Deployment: Keeps a number of equal pods running and replaces them step by step when their template changes.
  spec: The pods and how they are replaced.
  status: How far it has come.
io.k8s.api.apps.v1.DeploymentSpec: The pods of a deployment and how they are replaced.
  minReadySeconds: How long a new pod must be ready to count as available.
  paused: Changes of the template wait until it is false.
  progressDeadlineSeconds: Seconds without progress after which it says so. Default: 600.
  replicas: How many pods. Default: 1.
  revisionHistoryLimit: How many old replica sets are kept for rollbacks. Default: 10.
  selector: Labels of its pods; it cannot be changed.
  strategy: RollingUpdate or Recreate.
  template: The pods that it makes.
io.k8s.api.apps.v1.DeploymentStatus: How far a deployment has come.
  availableReplicas: Pods that are ready for long enough.
  conditions: Available, Progressing and ReplicaFailure.
  observedGeneration: The generation that this status is about.
  readyReplicas: Pods that are ready.
  replicas: Pods that exist, old ones too.
  unavailableReplicas: Pods that are still missing.
  updatedReplicas: Pods of the newest template.
io.k8s.api.apps.v1.DeploymentStrategy: How old pods are replaced by new ones.
  rollingUpdate: How many pods may be missing or too many meanwhile.
  type: RollingUpdate or Recreate. Default: RollingUpdate.
io.k8s.api.apps.v1.ReplicaSet: Keeps a number of equal pods running.
io.k8s.api.apps.v1.ReplicaSetSpec: The pods of a replica set.
  replicas: How many pods. Default: 1.
  selector: Labels of its pods.
  template: The pods that it makes.
io.k8s.api.apps.v1.StatefulSet: Keeps pods with fixed names, an order, and storage of their own.
  spec: The pods, their claims and their order.
  status: How far it has come.
io.k8s.api.apps.v1.StatefulSetSpec: The pods of a stateful set.
  minReadySeconds: How long a new pod must be ready to count as available.
  ordinals: The number of the first pod.
  persistentVolumeClaimRetentionPolicy: Whether claims go with their pods or with the set. Default: neither.
  podManagementPolicy: OrderedReady, one after the other, or Parallel.
  replicas: How many pods. Default: 1.
  revisionHistoryLimit: How many old revisions are kept. Default: 10.
  selector: Labels of its pods.
  serviceName: The headless service that gives the pods their DNS names.
  template: The pods that it makes.
  updateStrategy: RollingUpdate, from the last pod to the first, or OnDelete.
  volumeClaimTemplates: Claims that are made for each pod and stay with its name.
io.k8s.api.apps.v1.DaemonSet: Keeps one pod on every node that fits.
io.k8s.api.apps.v1.DaemonSetSpec: The pods of a daemon set.
  minReadySeconds: How long a new pod must be ready to count as available.
  selector: Labels of its pods.
  template: The pods that it makes; their node selector says on which nodes.
  updateStrategy: RollingUpdate or OnDelete.
io.k8s.api.batch.v1.Job: Runs pods until enough of them have succeeded.
  spec: The pods and when the job is done.
  status: How many have run and how it ended.
io.k8s.api.batch.v1.JobSpec: The pods of a job and when it is done.
  activeDeadlineSeconds: The job fails when it has run for this long.
  backoffLimit: Failures before the job fails. Default: 6.
  completionMode: NonIndexed, or Indexed to give each pod a number.
  completions: How many pods must succeed.
  manualSelector: The selector is set by hand.
  parallelism: How many pods run at a time. Default: 1.
  podFailurePolicy: What failures of pods mean for the job.
  selector: Labels of its pods, set by the server.
  suspend: No pods run while it is true.
  template: The pods that it makes.
  ttlSecondsAfterFinished: Seconds after its end until the job is removed.
io.k8s.api.batch.v1.CronJob: Starts jobs by a schedule.
io.k8s.api.batch.v1.CronJobSpec: When jobs start and what they are.
  concurrencyPolicy: Allow, Forbid or Replace a job that still runs. Default: Allow.
  failedJobsHistoryLimit: How many failed jobs are kept. Default: 1.
  jobTemplate: The jobs that it makes.
  schedule: When, in the five fields of cron.
  startingDeadlineSeconds: How late a job may start.
  successfulJobsHistoryLimit: How many finished jobs are kept. Default: 3.
  suspend: No jobs start while it is true.
  timeZone: The time zone of the schedule. Default: that of the controller.
io.k8s.api.rbac.v1.Role: Permissions in one namespace.
  rules: What is allowed.
io.k8s.api.rbac.v1.ClusterRole: Permissions in the whole cluster, or in a namespace where a RoleBinding refers to it.
  aggregationRule: Takes the rules of all cluster roles with these labels.
  rules: What is allowed.
io.k8s.api.rbac.v1.RoleBinding: Gives a role to users, groups and service accounts in one namespace.
  roleRef: The role; it cannot be changed.
  subjects: Who gets it.
io.k8s.api.rbac.v1.ClusterRoleBinding: Gives a cluster role to users, groups and service accounts in the whole cluster.
  roleRef: The cluster role; it cannot be changed.
  subjects: Who gets it.
io.k8s.api.rbac.v1.PolicyRule: Verbs that are allowed on resources or paths.
  apiGroups: API groups; an empty text is the core group, * is all.
  nonResourceURLs: Paths outside of resources, as /healthz; only in cluster roles.
  resourceNames: Only objects of these names.
  resources: Resources, with a slash for subresources, as pods/log; * is all.
  verbs: get, list, watch, create, update, patch, delete, deletecollection; * is all.
io.k8s.api.rbac.v1.RoleRef: The role of a binding.
  apiGroup: rbac.authorization.k8s.io.
  kind: Role or ClusterRole.
  name: The role's name.
io.k8s.api.rbac.v1.Subject: Who gets a role.
  kind: User, Group or ServiceAccount.
  name: The name of the user, group or account.
  namespace: The namespace of a service account.
io.k8s.api.storage.v1.StorageClass: How volumes are made for claims.
  allowVolumeExpansion: Claims of the class may grow.
  parameters: Settings for the provisioner.
  provisioner: Who makes the volumes.
  reclaimPolicy: What becomes of a volume when its claim goes: Delete or Retain. Default: Delete.
  volumeBindingMode: Immediate, or WaitForFirstConsumer to wait for a pod.
io.k8s.api.networking.v1.Ingress: Leads HTTP requests from outside to services, by host and path.
io.k8s.api.networking.v1.NetworkPolicy: Which connections pods accept and make.
io.k8s.api.networking.v1.NetworkPolicySpec: Pods and the connections that they may have.
  egress: Where they may connect to.
  ingress: Who may connect to them.
  podSelector: The pods that the policy is about; empty for all of the namespace.
  policyTypes: Ingress, Egress or both.
io.k8s.api.policy.v1.PodDisruptionBudget: How many pods may be down at once by evictions.
io.k8s.api.policy.v1.PodDisruptionBudgetSpec: What evictions have to leave.
  maxUnavailable: Most pods that may be missing, as a number or a percentage.
  minAvailable: Fewest pods that must be there, as a number or a percentage.
  selector: The pods.
io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler: Scales a workload by what its pods use.
io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec: What is scaled, between which sizes, and by what.
  behavior: How fast it grows and shrinks.
  maxReplicas: The most pods.
  metrics: What is measured, and the value that it is kept at. The largest size that one asks for counts.
  minReplicas: The fewest pods. Default: 1.
  scaleTargetRef: The workload.
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition: A kind of objects that users add to the API.
  spec: Names, versions and schemas of the kind.
  status: Whether it is served.
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec: Names, versions and schemas of a custom kind.
  conversion: How objects are converted between versions: None, or by a webhook.
  group: The API group; the definition is named plural.group.
  names: The kind's names.
  preserveUnknownFields: Only false is allowed.
  scope: Namespaced or Cluster.
  versions: The versions, of which one is stored.
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames: The names of a custom kind.
  categories: Groups that kubectl get knows it by, as all.
  kind: The name in objects, in CamelCase and the singular.
  listKind: The kind of lists. Default: the kind with List behind it.
  plural: The name in paths, in the plural and lower case.
  shortNames: Short names for kubectl.
  singular: The name in the singular and lower case.
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion: One version of a custom kind.
  additionalPrinterColumns: Columns that kubectl get shows.
  deprecated: Answers carry a warning.
  name: The version's name, as v1beta1.
  schema: What objects of the version look like.
  selectableFields: Fields that field selectors can use.
  served: Whether the version is in the API.
  storage: Whether objects are stored in this version; exactly one is.
  subresources: Status and scale.
`;

/** What fields of these names are in every kind. */
const common: Readonly<Record<string, string | undefined>> = lookupTable({
  apiVersion: "APIVersion defines the schema of this object: its API group and version.",
  kind: "The kind of this object, in CamelCase.",
  metadata: "Standard object's metadata: its name, its labels, its owners and its version.",
});

interface Described {
  readonly kind: string;
  readonly fields: ReadonlyMap<string, string>;
}

let parsed: Map<string, Described> | undefined;

function all(): Map<string, Described> {
  if (parsed) return parsed;
  parsed = new Map();
  let fields = new Map<string, string>();
  for (const line of text.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon < 0) continue;
    const description = line.slice(colon + 2);
    if (line.startsWith("  ")) fields.set(line.slice(2, colon), description);
    else {
      fields = new Map();
      parsed.set(line.slice(0, colon), { kind: description, fields });
    }
  }
  return parsed;
}

/** The schema with what we have to say of it and of its fields. */
export function withDescriptions(name: string, schema: Schema): Schema {
  const described = all().get(name);
  const isKind = schema["x-kubernetes-group-version-kind"] !== undefined;
  if (!described && !isKind) return schema;
  const properties = Object.entries(schema.properties ?? {}).map(([field, inner]) => {
    const description = described?.fields.get(field) ?? (isKind ? common[field] : undefined);
    return [field, description === undefined ? inner : { ...inner, description }] as const;
  });
  return {
    ...schema,
    ...(described && { description: described.kind }),
    ...(schema.properties && { properties: Object.fromEntries(properties) }),
  };
}

/** Of fields that custom resources have too. */
export function commonDescription(field: "apiVersion" | "kind" | "metadata"): string {
  return common[field] ?? "";
}

/** Every name that is described, for a test that each exists. */
export function describedNames(): [definition: string, fields: string[]][] {
  return [...all()].map(([name, { fields }]) => [name, [...fields.keys()]]);
}
