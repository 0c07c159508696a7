// Reads the objects that a fresh API server makes by itself and that do not depend on where it runs.
import { asList, asMap, asString, type Json, type JsonMap } from "./json.ts";
import { get, type Server } from "./observe.ts";

export interface BootstrapFacts {
  roles: RoleFacts[];
  bindings: BindingFacts[];
  /** Whole objects of other kinds. */
  objects: JsonMap[];
}

export interface RoleFacts {
  name: string;
  namespace?: string;
  labels?: JsonMap;
  /** `verbs groups resources [names]`, or `verbs urls`; `-` is the core group. */
  rules?: string[];
  /** Labels of the roles it gathers its rules from. */
  aggregates?: string[];
}

export interface BindingFacts {
  name: string;
  namespace?: string;
  /** `ClusterRole name`. */
  role: string;
  /** `Group name`, `User name`, `ServiceAccount namespace/name`. */
  subjects: string[];
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const others = [
  ["/apis/scheduling.k8s.io/v1/priorityclasses", "scheduling.k8s.io/v1", "PriorityClass"],
  [
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "flowcontrol.apiserver.k8s.io/v1",
    "PriorityLevelConfiguration",
  ],
  ["/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "flowcontrol.apiserver.k8s.io/v1", "FlowSchema"],
] as const;

export async function observeBootstrap(server: Server): Promise<BootstrapFacts> {
  const items = async (path: string) =>
    asList((await get(server, path)).items, path).map((item) => asMap(item, path));
  const objects: JsonMap[] = [];
  for (const [path, apiVersion, kind] of others) {
    for (const item of await items(path)) objects.push({ apiVersion, kind, ...withoutServerFields(item) });
  }
  return {
    roles: [...(await items(`${rbac}/clusterroles`)), ...(await items(`${rbac}/roles`))].map(roleFacts),
    bindings: [...(await items(`${rbac}/clusterrolebindings`)), ...(await items(`${rbac}/rolebindings`))].map(
      bindingFacts,
    ),
    objects,
  };
}

/** What a person could have written, without status and without a class's description. */
function withoutServerFields({ metadata, status: _, description: __, ...rest }: JsonMap): JsonMap {
  const { name, labels, annotations } = asMap(metadata, "metadata");
  return {
    metadata: {
      name: name ?? null,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    ...rest,
  };
}

function identity(item: JsonMap): { name: string; namespace?: string; labels: JsonMap } {
  const {
    name,
    namespace,
    labels,
    annotations,
    uid: _,
    resourceVersion: __,
    creationTimestamp: ___,
    managedFields: ____,
    ...unknown
  } = asMap(item.metadata, "metadata");
  const { "kubernetes.io/bootstrapping": mark, ...otherLabels } = asMap(labels, "labels");
  const usual = { "rbac.authorization.kubernetes.io/autoupdate": "true" };
  if (
    mark !== "rbac-defaults" ||
    JSON.stringify(annotations) !== JSON.stringify(usual) ||
    Object.keys(unknown).length > 0
  ) {
    throw new Error(`${name} is marked in an unusual way`);
  }
  return {
    name: asString(name, "name"),
    ...(namespace === undefined ? {} : { namespace: asString(namespace, "namespace") }),
    labels: otherLabels,
  };
}

function roleFacts(item: JsonMap): RoleFacts {
  const { labels, ...rest } = identity(item);
  const { metadata: _, rules, aggregationRule, ...unknown } = item;
  if (Object.keys(unknown).length > 0) throw new Error(`${rest.name} has ${Object.keys(unknown)}`);
  return {
    ...rest,
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Array.isArray(rules) ? { rules: rules.map((rule) => ruleText(asMap(rule, rest.name))) } : {}),
    ...(aggregationRule === undefined ? {} : { aggregates: aggregated(asMap(aggregationRule, rest.name)) }),
  };
}

function ruleText({
  verbs,
  apiGroups,
  resources,
  resourceNames,
  nonResourceURLs,
  ...unknown
}: JsonMap): string {
  if (Object.keys(unknown).length > 0) throw new Error(`a rule has ${Object.keys(unknown)}`);
  const list = (value: Json | undefined) =>
    asList(value, "rule")
      .map((word) => (word === "" ? "-" : asString(word, "rule")))
      .join(",");
  const parts =
    nonResourceURLs === undefined ? [verbs, apiGroups, resources, resourceNames] : [verbs, nonResourceURLs];
  return parts
    .filter((part) => part !== undefined)
    .map(list)
    .join(" ");
}

function aggregated(rule: JsonMap): string[] {
  return asList(rule.clusterRoleSelectors, "aggregationRule").map((selector) => {
    const { matchLabels, ...unknown } = asMap(selector, "selector");
    const [[label, value] = ["", ""], ...others] = Object.entries(asMap(matchLabels, "matchLabels"));
    if (value !== "true" || others.length > 0 || Object.keys(unknown).length > 0)
      throw new Error("an unusual aggregation");
    return label;
  });
}

function bindingFacts(item: JsonMap): BindingFacts {
  const { labels, ...rest } = identity(item);
  if (Object.keys(labels).length > 0) throw new Error(`${rest.name} has labels of its own`);
  const roleRef = asMap(item.roleRef, rest.name);
  const subjects = asList(item.subjects ?? [], rest.name).map((entry) => {
    const subject = asMap(entry, rest.name);
    return subject.namespace === undefined
      ? `${subject.kind} ${subject.name}`
      : `${subject.kind} ${subject.namespace}/${subject.name}`;
  });
  return { ...rest, role: `${roleRef.kind} ${roleRef.name}`, subjects };
}
