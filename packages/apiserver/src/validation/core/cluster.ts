/** Nodes, namespaces, service accounts, endpoints. */
import {
  deepEqual,
  Quantity,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validateQualifiedName,
} from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import type { EndpointSubset, Endpoints, Namespace, Node, ServiceAccount, Taint } from "@keelson/core/kinds";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy } from "../../contracts/strategy.ts";
import { addressWarnings, checkAddress, checkRange, parseRange, rangeWarnings } from "../checks/addresses.ts";
import { Errors } from "../checks/errors.ts";
import { portNumber } from "../checks/formats.ts";
import { checkLabelKey } from "../checks/selectors.ts";
import { checking, checkingUpdate, labelNames } from "../checks/strategies.ts";
import { checkEndpointAddress } from "./endpoint-address.ts";
import { checkResourceAmount } from "./resources.ts";
import { checkTaintEffect } from "./scheduling.ts";

// --------------------------------------------------------------------------------------------- nodes

function checkTaints(path: string, taints: readonly Taint[], errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, taint] of taints.entries()) {
    const at = `${path}[${i}]`;
    checkLabelKey(`${at}.key`, taint.key, errors);
    const problems = validateLabelValue(taint.value ?? "");
    if (problems.length > 0) errors.invalid(`${at}.value`, taint.value, problems.join(";"));
    if (!taint.effect) errors.required(`${at}.effect`);
    else checkTaintEffect(`${at}.effect`, taint.effect, errors);
    const key = `${taint.effect}/${taint.key}`;
    if (seen.has(key))
      errors.list.push({
        type: "FieldValueDuplicate",
        field: at,
        value: {
          Key: taint.key,
          Value: taint.value ?? "",
          Effect: taint.effect,
          TimeAdded: taint.timeAdded ?? null,
        },
        detail: "taints must be unique by key and effect pair",
      });
    seen.add(key);
  }
}

function checkNodeResources(node: Node, errors: Errors): void {
  for (const field of ["capacity", "allocatable"] as const)
    for (const [name, value] of Object.entries(node.status?.[field] ?? {}))
      checkResourceAmount(`status.${field}.${name}`, name, Quantity.from(value), errors);
}

const featureName = /^([A-Z][A-Za-z0-9]*)(\/[A-Za-z0-9]+)*$/;

function checkDeclaredFeatures(node: Node, errors: Errors): void {
  const features = node.status?.declaredFeatures ?? [];
  for (const [i, feature] of features.entries()) {
    const at = `status.declaredFeatures[${i}]`;
    const shown = JSON.stringify(feature);
    if (feature.length > 253)
      errors.invalid(at, feature, `invalid feature name ${shown}: must be no more than 253 characters`);
    else if (!featureName.test(feature))
      errors.invalid(
        at,
        feature,
        `invalid feature name ${shown}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      );
    const next = features[i + 1];
    if (next === undefined) continue;
    if (feature === next) errors.duplicate(`status.declaredFeatures[${i + 1}]`, next);
    else if (compareBytes(feature, next) > 0)
      errors.invalid(`status.declaredFeatures[${i + 1}]`, next, "list must be sorted alphabetically");
  }
}

function checkNode(node: Node, errors: Errors): void {
  if (node.spec?.taints?.length) checkTaints("metadata.taints", node.spec.taints, errors);
  checkNodeResources(node, errors);
  checkDeclaredFeatures(node, errors);
  const ranges = node.spec?.podCIDRs ?? [];
  for (const [i, range] of ranges.entries()) checkRange(`spec.podCIDRs[${i}]`, range, errors);
  if (ranges.length > 1) {
    const families = new Set(ranges.map((range) => parseRange(range)?.address.family));
    if (families.size < 2 || ranges.length > 2)
      errors.invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family");
  }
}

function checkNodeUpdate(node: Node, old: Node, errors: Errors): void {
  checkNodeResources(node, errors);
  checkDeclaredFeatures(node, errors);
  const addresses = new Set<string>();
  for (const [i, address] of (node.status?.addresses ?? []).entries()) {
    const key = `${address.type}/${address.address}`;
    if (addresses.has(key)) errors.duplicate(`status.addresses[${i}]`, address);
    addresses.add(key);
  }
  const before = old.spec?.podCIDRs ?? [];
  const now = node.spec?.podCIDRs ?? [];
  const refuse = () =>
    errors.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid');
  if (before.length > 0 && before.length !== now.length) refuse();
  else for (const [i, range] of before.entries()) if (range !== now[i]) refuse();
  if (old.spec?.providerID && old.spec.providerID !== node.spec?.providerID)
    errors.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid');
  if (node.spec?.taints?.length) checkTaints("metadata.taints", node.spec.taints, errors);
  if ((old.spec?.externalID ?? "") !== (node.spec?.externalID ?? ""))
    errors.forbidden("spec.externalID", "may not be updated");
}

function nodeWarnings(node: Node): string[] {
  const warnings: string[] = [];
  if (node.spec?.configSource) warnings.push("spec.configSource: the feature is no longer supported");
  if (node.spec?.externalID)
    warnings.push("spec.externalID: this field is deprecated, and is unused by Kubernetes");
  for (const [i, range] of (node.spec?.podCIDRs ?? []).entries())
    warnings.push(...rangeWarnings(`spec.podCIDRs[${i}]`, range));
  return warnings;
}

/** The singular field and the first of the plural say the same. */
function syncRanges(node: Node): void {
  const { spec } = node;
  if (!spec) return;
  if (spec.podCIDR && !spec.podCIDRs?.length) spec.podCIDRs = [spec.podCIDR];
  else if (spec.podCIDR && spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR];
  const first = spec.podCIDRs?.[0];
  if (first) spec.podCIDR = first;
}

export const nodes: Strategy = {
  default: (draft) => syncRanges(draft as unknown as Node),
  // What a node says about itself when it registers counts.
  statusField: null,
  prepareForUpdate(draft, old) {
    if (old.status === undefined) delete draft.status;
    else draft.status = old.status;
  },
  validate: checking(checkNode),
  validateUpdate: checkingUpdate<Node>((node, old, errors) => {
    checkNode(node, errors);
    checkNodeUpdate(node, old, errors);
  }),
  warningsOnCreate: (object) => nodeWarnings(object as unknown as Node),
  warningsOnUpdate: (object) => nodeWarnings(object as unknown as Node),
  subresources: {
    status: { validateUpdate: checkingUpdate(checkNodeUpdate) },
  },
};

// ---------------------------------------------------------------------------------------- namespaces

const namespaceLabel = "kubernetes.io/metadata.name";
const standardFinalizers = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

function checkNamespaceFinalizer(path: string, name: string, errors: Errors): void {
  errors.messages(path, name, validateQualifiedName(name));
  if (!name.includes("/") && !standardFinalizers.has(name))
    errors.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified");
}

export const namespaces: Strategy = {
  validateName: labelNames,
  prepareForCreate(draft) {
    // A generated name is known only now.
    draft.metadata.labels = { ...draft.metadata.labels, [namespaceLabel]: draft.metadata.name };
    const namespace = draft as unknown as Namespace;
    const finalizers = namespace.spec?.finalizers ?? [];
    if (!finalizers.includes("kubernetes"))
      namespace.spec = { ...namespace.spec, finalizers: [...finalizers, "kubernetes"] };
    namespace.status = { phase: "Active" };
  },
  prepareForUpdate(draft, old) {
    const finalizers = (old as unknown as Namespace).spec?.finalizers;
    const namespace = draft as unknown as Namespace;
    namespace.spec = finalizers ? { ...namespace.spec, finalizers } : {};
  },
  validate: checking<Namespace>((namespace, errors) => {
    for (const name of namespace.spec?.finalizers ?? [])
      checkNamespaceFinalizer("spec.finalizers", name, errors);
  }),
  subresources: {
    status: {
      validateUpdate: checkingUpdate<Namespace>((namespace, _old, errors) => {
        const phase = namespace.status?.phase;
        const deleted = Boolean(namespace.metadata?.deletionTimestamp);
        if (!deleted && phase !== "Active")
          errors.invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty");
        if (deleted && phase !== "Terminating")
          errors.invalid(
            "status.Phase",
            phase,
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
          );
      }),
    },
    finalize: {
      prepareForUpdate(draft, old) {
        if (old.status !== undefined) draft.status = old.status;
      },
      validateUpdate: checkingUpdate<Namespace>((namespace, _old, errors) => {
        for (const [i, name] of (namespace.spec?.finalizers ?? []).entries())
          checkNamespaceFinalizer(`spec.finalizers[${i}]`, name, errors);
      }),
    },
  },
};

// ---------------------------------------------------------------------------------- service accounts

function accountWarnings(account: ServiceAccount): string[] {
  const enforce = "kubernetes.io/enforce-mountable-secrets";
  const warnings: string[] = [];
  if (account.metadata?.annotations?.[enforce] === "true")
    warnings.push(
      `metadata.annotations[${enforce}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
    );
  return warnings;
}

export const serviceAccounts: Strategy = {
  warningsOnCreate: (object) => accountWarnings(object as unknown as ServiceAccount),
  warningsOnUpdate: (object) => accountWarnings(object as unknown as ServiceAccount),
};

// ----------------------------------------------------------------------------------------- endpoints

const protocols = ["SCTP", "TCP", "UDP"];

function checkSubsets(subsets: readonly EndpointSubset[], errors: Errors): void {
  for (const [i, subset] of subsets.entries()) {
    const at = `subsets[${i}]`;
    if (!subset.addresses?.length && !subset.notReadyAddresses?.length)
      errors.required(at, "must specify `addresses` or `notReadyAddresses`");
    for (const field of ["addresses", "notReadyAddresses"] as const)
      for (const [j, address] of (subset[field] ?? []).entries()) {
        const path = `${at}.${field}[${j}]`;
        checkAddress(`${path}.ip`, address.ip, errors);
        if (address.hostname)
          errors.messages(`${path}.hostname`, address.hostname, validateDns1123Label(address.hostname));
        if (address.nodeName !== undefined)
          errors.messages(`${path}.nodeName`, address.nodeName, validateDns1123Subdomain(address.nodeName));
        checkEndpointAddress(`${path}.ip`, address.ip, errors);
      }
    const ports = subset.ports ?? [];
    for (const [j, port] of ports.entries()) {
      const path = `${at}.ports[${j}]`;
      if (ports.length > 1 && !port.name) errors.required(`${path}.name`);
      else if (port.name) errors.messages(`${path}.name`, port.name, validateDns1123Label(port.name));
      errors.messages(`${path}.port`, port.port, portNumber(port.port));
      if (!port.protocol) errors.required(`${path}.protocol`);
      else if (!protocols.includes(port.protocol))
        errors.notSupported(`${path}.protocol`, port.protocol, protocols);
      if (port.appProtocol !== undefined)
        errors.messages(`${path}.appProtocol`, port.appProtocol, validateQualifiedName(port.appProtocol));
    }
  }
}

function endpointsWarnings(object: ApiObject): string[] {
  const warnings = ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"];
  for (const [i, subset] of ((object as unknown as Endpoints).subsets ?? []).entries())
    for (const field of ["addresses", "notReadyAddresses"] as const)
      for (const [j, { ip }] of (subset[field] ?? []).entries())
        warnings.push(...addressWarnings(`subsets[${i}].${field}[${j}].ip`, ip));
  return warnings;
}

export const endpoints: Strategy = {
  validate: checking<Endpoints>((object, errors) => checkSubsets(object.subsets ?? [], errors)),
  validateUpdate: checkingUpdate<Endpoints>((object, old, errors) => {
    const own = new Errors();
    checkSubsets(object.subsets ?? [], own);
    if (own.list.length > 0 && !deepEqual(object.subsets, old.subsets)) errors.add(own.list);
  }),
  warningsOnCreate: endpointsWarnings,
  warningsOnUpdate: endpointsWarnings,
};
