/** Nodes, namespaces, events, quotas, roles, policies: what a cluster is run with. */
import type {
  APIService,
  CertificateSigningRequest,
  ClusterRoleBinding,
  ConfigMap,
  Event,
  FlowSchema,
  Lease,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  Namespace,
  Node,
  PriorityClass,
  PriorityLevelConfiguration,
  ResourceQuota,
  ResourceSlice,
  RoleBinding,
  RuntimeClass,
  resourceV1,
  Secret,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from "@keelson/core/kinds";
import { humanDuration } from "../contracts/age.ts";
import { ageCell, type Cell, nameOf, none, selectorCell, since, unknown, unset } from "./cells.ts";

type AnyObject = Parameters<typeof nameOf>[0];

/** For kinds that have nothing to show but their age. */
export const ageRow = (object: AnyObject, nowMs: number): Cell[] => [nameOf(object), ageCell(object, nowMs)];

export const configMapRow = (map: ConfigMap, nowMs: number): Cell[] => [
  nameOf(map),
  Object.keys(map.data ?? {}).length + Object.keys(map.binaryData ?? {}).length,
  ageCell(map, nowMs),
];

export const secretRow = (secret: Secret, nowMs: number): Cell[] => [
  nameOf(secret),
  secret.type ?? "",
  Object.keys(secret.data ?? {}).length,
  ageCell(secret, nowMs),
];

export const namespaceRow = (namespace: Namespace, nowMs: number): Cell[] => [
  nameOf(namespace),
  namespace.status?.phase ?? "",
  ageCell(namespace, nowMs),
];

const rolePrefix = "node-role.kubernetes.io/";

function rolesCell(node: Node): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(node.metadata?.labels ?? {})) {
    if (key.startsWith(rolePrefix) && key.length > rolePrefix.length) roles.add(key.slice(rolePrefix.length));
    else if (key === "kubernetes.io/role" && value) roles.add(value);
  }
  return [...roles].sort().join(",") || none;
}

export const nodeRow = (node: Node, nowMs: number): Cell[] => {
  const { status, spec } = node;
  const ready = (status?.conditions ?? []).findLast(({ type }) => type === "Ready");
  const words = [ready ? (ready.status === "True" ? "Ready" : "NotReady") : "Unknown"];
  if (spec?.unschedulable) words.push("SchedulingDisabled");
  const info = status?.nodeInfo;
  const address = (wanted: string) =>
    (status?.addresses ?? []).find(({ type }) => type === wanted)?.address ?? none;
  const kernel = info?.kernelVersion || unknown;
  return [
    nameOf(node),
    words.join(","),
    rolesCell(node),
    ageCell(node, nowMs),
    info?.kubeletVersion ?? "",
    address("InternalIP"),
    address("ExternalIP"),
    info?.osImage || unknown,
    info?.architecture ? `${kernel} (${info.architecture})` : kernel,
    info?.containerRuntimeVersion || unknown,
  ];
};

/** An event by either group's names. */
interface AnyEvent extends Omit<Event, "involvedObject"> {
  involvedObject?: Event["involvedObject"];
  regarding?: Event["involvedObject"];
  note?: string;
  deprecatedSource?: Event["source"];
  deprecatedFirstTimestamp?: string | null;
  deprecatedLastTimestamp?: string | null;
  deprecatedCount?: number;
  reportingController?: string;
}

export const eventRow = (event: AnyEvent, nowMs: number): Cell[] => {
  const about = event.involvedObject ?? event.regarding ?? {};
  const source = event.source ?? event.deprecatedSource ?? {};
  const first = since(event.firstTimestamp ?? event.deprecatedFirstTimestamp ?? event.eventTime, nowMs);
  const lastTime = event.lastTimestamp ?? event.deprecatedLastTimestamp;
  const { series } = event;
  const count = series ? (series.count ?? 0) : event.count || event.deprecatedCount || 1;
  const last = series ? since(series.lastObservedTime, nowMs) : lastTime ? since(lastTime, nowMs) : first;
  const kind = (about.kind ?? "").toLowerCase();
  const component = source.component || event.reportingComponent || event.reportingController || "";
  const instance = source.host || event.reportingInstance || "";
  return [
    last,
    event.type ?? "",
    event.reason ?? "",
    about.name ? `${kind}/${about.name}` : kind,
    about.fieldPath ?? "",
    instance ? `${component}, ${instance}` : component,
    (event.message ?? event.note ?? "").trim(),
    first,
    count,
    nameOf(event),
  ];
};

export const quotaRow = (quota: ResourceQuota, nowMs: number): Cell[] => {
  const { hard = {}, used = {} } = quota.status ?? {};
  const requests: string[] = [];
  const limits: string[] = [];
  for (const name of Object.keys(hard).sort())
    (name.startsWith("limits.") ? limits : requests).push(`${name}: ${used[name] ?? "0"}/${hard[name]}`);
  return [nameOf(quota), requests.join(", "), limits.join(", "), ageCell(quota, nowMs)];
};

export const bindingRow = (binding: RoleBinding | ClusterRoleBinding, nowMs: number): Cell[] => {
  const subjects = binding.subjects ?? [];
  const of = (kind: string) => subjects.filter((subject) => subject.kind === kind);
  return [
    nameOf(binding),
    `${binding.roleRef.kind}/${binding.roleRef.name}`,
    ageCell(binding, nowMs),
    of("User")
      .map(({ name }) => name)
      .join(", "),
    of("Group")
      .map(({ name }) => name)
      .join(", "),
    of("ServiceAccount")
      .map(({ name, namespace }) => `${namespace ?? ""}/${name}`)
      .join(", "),
  ];
};

export const leaseRow = (lease: Lease, nowMs: number): Cell[] => [
  nameOf(lease),
  lease.spec?.holderIdentity ?? "",
  ageCell(lease, nowMs),
];

export const priorityClassRow = (object: PriorityClass, nowMs: number): Cell[] => [
  nameOf(object),
  object.value ?? 0,
  object.globalDefault ?? false,
  ageCell(object, nowMs),
  object.preemptionPolicy ?? "",
];

export const runtimeClassRow = (object: RuntimeClass, nowMs: number): Cell[] => [
  nameOf(object),
  object.handler,
  ageCell(object, nowMs),
];

export const signingRequestRow = (request: CertificateSigningRequest, nowMs: number): Cell[] => {
  const { spec, status } = request;
  const has = (type: string) => (status?.conditions ?? []).some((condition) => condition.type === type);
  const words = [has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending"];
  if (has("Failed")) words.push("Failed");
  if (status?.certificate) words.push("Issued");
  return [
    nameOf(request),
    ageCell(request, nowMs),
    spec?.signerName || none,
    spec?.username ?? "",
    spec?.expirationSeconds === undefined ? none : humanDuration(spec.expirationSeconds * 1000),
    words.join(","),
  ];
};

export const webhooksRow = (
  configuration: MutatingWebhookConfiguration | ValidatingWebhookConfiguration,
  nowMs: number,
): Cell[] => [nameOf(configuration), configuration.webhooks?.length ?? 0, ageCell(configuration, nowMs)];

export const policyRow = (
  policy: ValidatingAdmissionPolicy & MutatingAdmissionPolicy,
  nowMs: number,
): Cell[] => {
  const { validations, mutations, paramKind } = policy.spec ?? {};
  return [
    nameOf(policy),
    (validations ?? mutations ?? []).length,
    paramKind ? `${paramKind.apiVersion}/${paramKind.kind}` : unset,
    ageCell(policy, nowMs),
  ];
};

export const policyBindingRow = (
  binding: ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding,
  nowMs: number,
): Cell[] => {
  const ref = binding.spec?.paramRef;
  let parameters = unset;
  if (ref?.name) parameters = `${ref.namespace || "*"}/${ref.name}`;
  else if (ref?.selector) parameters = selectorCell(ref.selector);
  return [nameOf(binding), binding.spec?.policyName ?? "", parameters, ageCell(binding, nowMs)];
};

export const flowSchemaRow = (schema: FlowSchema, nowMs: number): Cell[] => [
  nameOf(schema),
  schema.spec?.priorityLevelConfiguration?.name ?? "",
  schema.spec?.matchingPrecedence ?? 0,
  schema.spec?.distinguisherMethod?.type ?? none,
  ageCell(schema, nowMs),
  (schema.status?.conditions ?? []).find(({ type }) => type === "Dangling")?.status ?? "?",
];

export const priorityLevelRow = (level: PriorityLevelConfiguration, nowMs: number): Cell[] => {
  const limited = level.spec?.limited;
  const queuing = limited?.limitResponse?.queuing;
  return [
    nameOf(level),
    level.spec?.type ?? "",
    limited ? (limited.nominalConcurrencyShares ?? 0) : none,
    queuing ? (queuing.queues ?? 0) : none,
    queuing ? (queuing.handSize ?? 0) : none,
    queuing ? (queuing.queueLengthLimit ?? 0) : none,
    ageCell(level, nowMs),
  ];
};

export const resourceClaimRow = (claim: resourceV1.ResourceClaim, nowMs: number): Cell[] => {
  const deleted = Boolean(claim.metadata?.deletionTimestamp);
  const states = deleted ? ["deleted"] : [];
  if (claim.status?.allocation) {
    states.push("allocated");
    if (claim.status.reservedFor?.length) states.push("reserved");
  } else if (!deleted) states.push("pending");
  return [nameOf(claim), states.join(","), ageCell(claim, nowMs)];
};

export const resourceSliceRow = (slice: ResourceSlice, nowMs: number): Cell[] => [
  nameOf(slice),
  slice.spec?.nodeName ?? "",
  slice.spec?.driver ?? "",
  slice.spec?.pool?.name ?? "",
  ageCell(slice, nowMs),
];

export const apiServiceRow = (service: APIService, nowMs: number): Cell[] => {
  const ref = service.spec?.service;
  const available = (service.status?.conditions ?? []).find(({ type }) => type === "Available");
  const reason = available && available.status !== "True" ? ` (${available.reason ?? ""})` : "";
  return [
    nameOf(service),
    ref ? `${ref.namespace ?? ""}/${ref.name ?? ""}` : "Local",
    available ? `${available.status}${reason}` : "Unknown",
    ageCell(service, nowMs),
  ];
};
