/** The exact permissions that controllers need, as RBAC rules. */
import type { AnyKind, Scope } from "@keelson/core";
import type { Verb } from "../controller/declaration.ts";
import { type AnyController, isRaw, type Permission, permissionsOf } from "../controller/permissions.ts";
import { Lease } from "../leader/lease.ts";
import { Event } from "../reconcile/event-recorder.ts";
import { convertedAmong, webhookPermissions } from "../webhook/configurations.ts";
import type { Webhook } from "../webhook/webhook.ts";

/** One rule of a Role, as Kubernetes writes it. */
export interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  verbs: Verb[];
  resourceNames?: string[];
}

/** What webhooks need permission for. */
export interface WebhookRole {
  readonly name: string;
  readonly webhooks: readonly Webhook[];
  /** `namespace`: the Secret alone. `cluster`: what has no namespace. Default: both. */
  readonly part?: "namespace" | "cluster";
}

/** What a Role is generated for. */
export interface RoleOptions {
  /** The operator's Lease, when it elects a leader. */
  readonly lease?: string;
  /** Webhooks that the operator serves, and the name under which they are registered. */
  readonly webhooks?: WebhookRole;
  /** Whether events are recorded. Default: true. */
  readonly events?: boolean;
  /** Only for kinds of this scope: an operator of some namespaces has a Role in each, and a ClusterRole for the rest. */
  readonly scope?: Scope;
}

const verbOrder: readonly Verb[] = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
];

/** Rules without wildcards: what the declarations say, what the runtime itself does, and nothing else. */
export function roleFor(controllers: readonly AnyController[], options: RoleOptions = {}): PolicyRule[] {
  const permissions: Permission[] = controllers.flatMap(permissionsOf);
  if (options.events !== false) permissions.push({ kind: Event, verbs: ["create", "patch"] });
  if (options.lease !== undefined) {
    // A name cannot limit creation: the object has none yet when the rule is looked at.
    permissions.push({ kind: Lease, verbs: ["create"] });
    permissions.push({ kind: Lease, verbs: ["get", "list", "watch", "update"], names: [options.lease] });
  }
  if (options.webhooks) permissions.push(...ofWebhooks(controllers, options.webhooks));
  const { scope } = options;
  return merged(scope === undefined ? permissions : permissions.filter(({ kind }) => kind.scope === scope));
}

/** What the webhooks of an operator need, and nothing else. */
export function webhookRole(controllers: readonly AnyController[], role: WebhookRole): PolicyRule[] {
  return merged(ofWebhooks(controllers, role));
}

function ofWebhooks(controllers: readonly AnyController[], role: WebhookRole): Permission[] {
  const { name, webhooks, part } = role;
  const converted = convertedAmong([
    ...controllers.flatMap((each) => (isRaw(each) ? [] : [each.kind])),
    ...webhooks.map(({ kind }) => kind),
  ]);
  const { cluster, namespaced } = webhookPermissions(name, webhooks, converted);
  return part === "cluster" ? cluster : part === "namespace" ? namespaced : [...cluster, ...namespaced];
}

interface Grouped {
  readonly group: string;
  readonly resource: string;
  readonly names: string;
  readonly verbs: Set<Verb>;
}

function merged(permissions: readonly Permission[]): PolicyRule[] {
  const byResource = new Map<string, Grouped>();
  for (const { kind, subresource, verbs, names } of permissions) {
    const resource = resourceOf(kind, subresource);
    const nameList = names ? [...new Set(names)].sort().join(",") : "";
    const id = [kind.group, resource, nameList].join("|");
    const grouped = byResource.get(id) ?? { group: kind.group, resource, names: nameList, verbs: new Set() };
    for (const verb of verbs) grouped.verbs.add(verb);
    byResource.set(id, grouped);
  }
  // A name-limited verb that is granted without limit as well is granted already.
  for (const grouped of byResource.values()) {
    if (grouped.names === "") continue;
    const free = byResource.get([grouped.group, grouped.resource, ""].join("|"));
    for (const verb of free?.verbs ?? []) grouped.verbs.delete(verb);
  }
  const rules = new Map<string, PolicyRule>();
  for (const { group, resource, names, verbs } of byResource.values()) {
    if (verbs.size === 0) continue;
    const ordered = verbOrder.filter((verb) => verbs.has(verb));
    const id = [group, names, ...ordered].join("|");
    const rule = rules.get(id) ?? {
      apiGroups: [group],
      resources: [],
      verbs: ordered,
      ...(names === "" ? {} : { resourceNames: names.split(",") }),
    };
    rule.resources.push(resource);
    rule.resources.sort();
    rules.set(id, rule);
  }
  return [...rules.values()].sort((a, b) => (ruleKey(a) < ruleKey(b) ? -1 : 1));
}

function resourceOf(kind: AnyKind, subresource: string | undefined): string {
  return subresource === undefined ? kind.resource : `${kind.resource}/${subresource}`;
}

function ruleKey(rule: PolicyRule): string {
  return [rule.apiGroups[0], rule.resources.join(","), rule.resourceNames?.join(",") ?? ""].join("\u0000");
}
