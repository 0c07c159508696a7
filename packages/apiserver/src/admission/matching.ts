/** Which requests a webhook or a policy is about: rules, selectors, and versions that mean the same. */
import { type LabelSelectorObject, labelSelectorFrom, matchesLabels } from "@keelson/core";
import type { MatchResources, NamedRuleWithOperations, RuleWithOperations } from "@keelson/core/kinds";
import type { AdmissionRequest } from "../contracts/admission.ts";
import type { PluginContext } from "../contracts/plugin.ts";
import { notFound } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";

/** What a request is about, in the version that a rule asked for. */
export interface Match {
  readonly kind: AdmissionRequest["kind"];
  readonly resource: AdmissionRequest["resource"];
}

const registration = "admissionregistration.k8s.io";
const registered = new Set([
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
]);

/** What configures admission is itself exempt, so that a mistake can be undone. */
export function isExempt({ kind }: AdmissionRequest): boolean {
  return kind.group === registration && registered.has(kind.kind);
}

/** On create the name is the object's, as far as it is known. */
export function requestName({ name, object, operation }: AdmissionRequest): string {
  return name || (operation === "CREATE" ? (object?.metadata.name ?? "") : "");
}

const isNamespaces = ({ group, resource }: AdmissionRequest["resource"]): boolean =>
  resource === "namespaces" && group === "";

/** A namespace is within itself. */
export function requestNamespace(request: AdmissionRequest): string {
  return request.namespace || (isNamespaces(request.resource) ? requestName(request) : "");
}

const has = (list: readonly string[] | undefined, item: string): boolean =>
  !!list && (list.includes("*") || list.includes(item));

function matchesRule(
  rule: RuleWithOperations,
  request: AdmissionRequest,
  resource: Match["resource"],
): boolean {
  const { scope } = rule;
  if (scope && scope !== "*") {
    const cluster = isNamespaces(resource) || requestNamespace(request) === "";
    if (cluster !== (scope === "Cluster")) return false;
  }
  return (
    has(rule.operations, request.operation) &&
    has(rule.apiGroups, resource.group) &&
    has(rule.apiVersions, resource.version) &&
    !!rule.resources?.some((text) => {
      const slash = text.indexOf("/");
      const name = slash < 0 ? text : text.slice(0, slash);
      const part = slash < 0 ? "" : text.slice(slash + 1);
      return (name === "*" || name === resource.resource) && (part === "*" || part === request.subresource);
    })
  );
}

/** The first rule that matches, in the request's own version or else in one that means the same. */
export function matchRules(
  rules: readonly NamedRuleWithOperations[],
  equivalent: boolean,
  request: AdmissionRequest,
  resources: PluginContext["resources"],
): Match | undefined {
  const named = (rule: NamedRuleWithOperations): boolean =>
    !rule.resourceNames?.length || rule.resourceNames.includes(requestName(request));
  const { kind, resource } = request;
  for (const rule of rules)
    if (matchesRule(rule, request, resource) && named(rule)) return { kind, resource };
  if (!equivalent) return undefined;
  const versions = resources(resource.group, resource.resource)?.versions ?? [];
  for (const rule of rules)
    for (const version of versions) {
      if (version === resource.version) continue;
      const other = { ...resource, version };
      if (!matchesRule(rule, request, other) || !named(rule)) continue;
      // Kinds of subresources have versions of their own.
      return { kind: kind.group === resource.group ? { ...kind, version } : kind, resource: other };
    }
  return undefined;
}

interface Selecting {
  readonly namespaceSelector?: LabelSelectorObject | undefined;
  readonly objectSelector?: LabelSelectorObject | undefined;
}

type Selector = ReturnType<typeof labelSelectorFrom> | undefined;

/** Undefined selects everything. */
function compile(selector: LabelSelectorObject | undefined): Selector {
  const empty = !selector?.matchExpressions?.length && Object.keys(selector?.matchLabels ?? {}).length === 0;
  return empty || !selector ? undefined : labelSelectorFrom(selector);
}

/** The two selectors of one webhook or policy, compiled once. */
export class Selectors {
  readonly #namespaces: Selector;
  readonly #objects: Selector;

  constructor({ namespaceSelector, objectSelector }: Selecting) {
    this.#namespaces = compile(namespaceSelector);
    this.#objects = compile(objectSelector);
  }

  /** Throws 404 when the namespace must be looked at and is not there. */
  match(request: AdmissionRequest, store: StoreReader): boolean {
    return this.#matchNamespace(request, store) && this.#matchObject(request);
  }

  #matchNamespace(request: AdmissionRequest, store: StoreReader): boolean {
    const namespace = requestNamespace(request);
    if (!this.#namespaces || (namespace === "" && request.resource.resource !== "namespaces")) return true;
    const own =
      request.resource.resource === "namespaces" &&
      request.subresource === "" &&
      (request.operation === "CREATE" || request.operation === "UPDATE");
    const found = own ? request.object : store.get({ group: "", resource: "namespaces" }, "", namespace);
    if (!found) throw notFound({ group: "", resource: "namespaces" }, namespace);
    return matchesLabels(this.#namespaces, found.metadata.labels ?? {});
  }

  #matchObject({ object, oldObject }: AdmissionRequest): boolean {
    const selector = this.#objects;
    if (!selector) return true;
    return [object, oldObject].some(
      (one) => one?.metadata && matchesLabels(selector, one.metadata.labels ?? {}),
    );
  }
}

/** What a policy or its binding is about, compiled once. */
export class ResourceMatcher {
  readonly #selectors: Selectors;
  readonly #match: MatchResources;
  readonly #context: Pick<PluginContext, "store" | "resources">;

  constructor(match: MatchResources, context: Pick<PluginContext, "store" | "resources">) {
    this.#selectors = new Selectors(match);
    this.#match = match;
    this.#context = context;
  }

  match(request: AdmissionRequest): Match | undefined {
    if (!this.#selectors.match(request, this.#context.store)) return undefined;
    const { resourceRules = [], excludeResourceRules = [], matchPolicy } = this.#match;
    const equivalent = matchPolicy !== undefined && matchPolicy !== "Exact";
    const { resources } = this.#context;
    if (matchRules(excludeResourceRules, equivalent, request, resources)) return undefined;
    if (resourceRules.length === 0) return { kind: request.kind, resource: request.resource };
    return matchRules(resourceRules, equivalent, request, resources);
  }
}
