/** What the API server has to know of webhooks: the configurations in which they are registered. */
import type { AnyKind, JsonObject, KubeObject } from "@keelson/core";
import { dynamicKind } from "@keelson/core";
import type { Convertible, CustomResourceDefinitionObject, Resource } from "@keelson/schema";
import type { Permission } from "../controller/permissions.ts";
import { isConverting, type LabelSelector, type Webhook, type WebhookMatch } from "./webhook.ts";

const registration = { group: "admissionregistration.k8s.io", version: "v1", scope: "Cluster" } as const;

export const ValidatingConfiguration = dynamicKind({
  ...registration,
  kind: "ValidatingWebhookConfiguration",
  resource: "validatingwebhookconfigurations",
});
export const MutatingConfiguration = dynamicKind({
  ...registration,
  kind: "MutatingWebhookConfiguration",
  resource: "mutatingwebhookconfigurations",
});
export const CustomResourceDefinition = dynamicKind({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  resource: "customresourcedefinitions",
  scope: "Cluster",
});
export const Secret = dynamicKind({
  group: "",
  version: "v1",
  kind: "Secret",
  resource: "secrets",
  scope: "Namespaced",
});

/** Where conversions are answered. */
export const convertPath = "/convert";

/** Where a webhook answers. */
export function pathOf(role: "validate" | "mutate", { name }: Webhook): string {
  return `/${role}/${name}`;
}

/** The Service before the replicas, and the Secret with their certificate. */
export function webhookServiceName(operator: string): string {
  return `${operator}-webhook`;
}

/** Where the API server finds webhooks: behind a service, or at a URL. */
export type WebhookPlace =
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port?: number } }
  | { readonly url: string };

/** What webhooks are registered with. */
export interface ConfigurationOptions {
  /** The operator's name: that of its configurations. */
  readonly name: string;
  readonly place: WebhookPlace;
  /** Authorities in PEM. Without them the operator writes them when it runs. */
  readonly authorities?: string;
  /** Put on every object. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A configuration object, as plain JSON. */
export type ConfigurationObject = KubeObject & {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  webhooks: JsonObject[];
};

/** The ValidatingWebhookConfiguration and the MutatingWebhookConfiguration, as far as there is something to register. */
export function webhookConfigurations(
  webhooks: readonly Webhook[],
  options: ConfigurationOptions,
): ConfigurationObject[] {
  const { name, labels, annotations } = options;
  return (["validate", "mutate"] as const).flatMap((role) => {
    const those = webhooks.filter(({ definition }) => definition[role]);
    if (those.length === 0) return [];
    const { kind } = role === "validate" ? ValidatingConfiguration : MutatingConfiguration;
    return {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind,
      metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) },
      webhooks: those.map((each) => registered(each, role, options)),
    } as ConfigurationObject;
  });
}

function registered(
  webhook: Webhook,
  role: "validate" | "mutate",
  options: ConfigurationOptions,
): JsonObject {
  const { kind, definition } = webhook;
  const { conditions } = definition;
  return {
    name: entryName(webhook, role, options.name),
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    failurePolicy: definition.failurePolicy ?? "Fail",
    matchPolicy: "Equivalent",
    timeoutSeconds: definition.timeoutSeconds ?? 5,
    clientConfig: clientConfig(options, pathOf(role, webhook)),
    rules: [ruleOf(kind, definition)],
    ...selectorsOf(definition),
    ...(conditions
      ? { matchConditions: Object.entries(conditions).map(([name, expression]) => ({ name, expression })) }
      : {}),
    ...(role === "mutate" ? { reinvocationPolicy: definition.reinvocation ?? "IfNeeded" } : {}),
  };
}

/** The requests on a kind that are looked at. */
export function ruleOf(kind: AnyKind, { operations, subresource }: WebhookMatch): JsonObject {
  return {
    apiGroups: [kind.group],
    apiVersions: [kind.version],
    operations: [...(operations ?? ["CREATE", "UPDATE"])],
    resources: [subresource === undefined ? kind.resource : `${kind.resource}/${subresource}`],
    scope: kind.scope,
  };
}

export function selectorsOf({ namespaces, objects }: WebhookMatch): JsonObject {
  return {
    ...(namespaces ? { namespaceSelector: plain(namespaces) } : {}),
    ...(objects ? { objectSelector: plain(objects) } : {}),
  };
}

/** Webhooks have names of three parts, unique in a configuration. */
export function entryName({ name }: Webhook, role: "validate" | "mutate", operator: string): string {
  return `${role}.${name}.${operator}.keelson.dev`;
}

function plain(selector: LabelSelector): JsonObject {
  return structuredClone(selector) as unknown as JsonObject;
}

/** As webhooks and CRDs both have it. */
export function clientConfig({ place, authorities }: ConfigurationOptions, path: string): JsonObject {
  const trusted: JsonObject =
    authorities === undefined ? {} : { caBundle: Buffer.from(authorities).toString("base64") };
  if ("url" in place) return { url: `${place.url.replace(/\/$/, "")}${path}`, ...trusted };
  const { namespace, name, port = 443 } = place.service;
  return { service: { namespace, name, path, port }, ...trusted };
}

/** The CRD of a resource whose versions a webhook converts. */
export function convertedCrd(
  resource: Resource,
  options: ConfigurationOptions,
): CustomResourceDefinitionObject {
  return resource.crd({ conversion: clientConfig(options, convertPath) as never });
}

/** Resources among these kinds that are converted by functions of the author's, each once. */
export function convertedAmong(kinds: readonly AnyKind[]): (Resource & Convertible)[] {
  const converted = kinds.filter(isConverting) as unknown as Resource[];
  return [...new Map(converted.map((each) => [`${each.kind}.${each.group}`, each])).values()];
}

/**
 * What the runtime needs to keep certificates: its own Secret, and the objects that name the authority. All by name,
 * none is created: `keelson generate` writes them, the Secret without data.
 */
export function webhookPermissions(
  operator: string,
  webhooks: readonly Webhook[],
  converted: readonly Resource[],
): { readonly cluster: Permission[]; readonly namespaced: Permission[] } {
  const verbs = ["get", "list", "watch", "patch"] as const;
  const cluster: Permission[] = [];
  if (webhooks.some(({ definition }) => definition.validate)) {
    cluster.push({ kind: ValidatingConfiguration, verbs, names: [operator], internal: true });
  }
  if (webhooks.some(({ definition }) => definition.mutate)) {
    cluster.push({ kind: MutatingConfiguration, verbs, names: [operator], internal: true });
  }
  if (converted.length > 0) {
    const names = converted.map((each) => each.crd().metadata.name);
    cluster.push({ kind: CustomResourceDefinition, verbs, names, internal: true });
  }
  const secret: Permission = {
    kind: Secret,
    verbs: ["get", "list", "watch", "update"],
    names: [webhookServiceName(operator)],
    internal: true,
  };
  return { cluster, namespaced: cluster.length > 0 ? [secret] : [] };
}
