/** `/eviction`: deletes a pod unless a disruption budget forbids it. */
import {
  formatTime,
  type JsonObject,
  type JsonValue,
  type LabelSelectorObject,
  labelSelectorFrom,
  matchesLabels,
} from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, failure, forbidden, notFound, tooManyRequests } from "../contracts/status-error.ts";
import { jsonResponse } from "../messages/response.ts";
import { keyFor } from "../registry/api-resource.ts";
import type { DeleteOptions } from "../registry/deletion.ts";
import type { Registry } from "../registry/registry.ts";
import type { Admission } from "../rest/admission.ts";
import type { Deletes } from "../rest/deletes.ts";
import { decodeKind, success } from "../rest/embedded-kinds.ts";
import { type Exchange, namespaceOf, readBody, type World } from "../rest/exchange.ts";
import { tableOf } from "../rest/object-store.ts";
import { deleteOptions, writeOptions } from "../rest/options.ts";
import type { SubresourceHandler } from "../rest/subresources.ts";
import { admissionOptions } from "../rest/writes.ts";
import type { Store } from "../storage/store.ts";

const kind = { group: "policy", version: "v1", kind: "Eviction" };
const budgetCause = "DisruptionBudget";
const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";

export interface EvictionParts {
  readonly deletes: Deletes;
  readonly admission: Admission;
  readonly registry: Registry;
  readonly store: Store;
  readonly world: World;
}

export function evictionHandler(parts: EvictionParts): SubresourceHandler {
  return async (exchange, negotiated) => {
    const { info } = exchange;
    const create = writeOptions("CreateOptions", info.query);
    const body = await readBody(exchange, "Eviction");
    const eviction = decodeKind(kind, body.value);
    if (eviction.metadata.name !== info.name)
      throw badRequest("name in URL does not match name in Eviction object");
    const input = {
      operation: "CREATE" as const,
      dryRun: create.dryRun,
      options: admissionOptions(create, false),
      oldObject: undefined,
      kind,
    };
    const object = (await parts.admission.admit(exchange, { ...input, object: eviction })) ?? eviction;
    await parts.admission.validate(exchange, { ...input, object });
    const options = optionsOf(object, create.dryRun);
    const pod = tableOf(exchange.resource).get(keyFor(exchange.resource, namespaceOf(exchange), info.name));
    if (!pod) throw notFound(exchange.resource, info.name);
    if (!mayIgnoreBudget(pod)) spend(parts, pod, options.dryRun);
    if (!options.dryRun) markDisrupted(parts, exchange, pod.metadata.name);
    await parts.deletes.removeAdmitted(exchange, info.name, options);
    return jsonResponse(201, success(201), negotiated);
  };
}

function optionsOf(eviction: ApiObject, dryRun: boolean): DeleteOptions {
  const raw = eviction.deleteOptions as JsonValue | undefined;
  const options = deleteOptions(new URLSearchParams(), raw ?? undefined);
  return dryRun ? { ...options, dryRun: true } : options;
}

/** A pod that is over, or has not begun, serves nobody. */
function mayIgnoreBudget(pod: ApiObject): boolean {
  const phase = (pod.status as JsonObject | undefined)?.phase;
  return (
    phase === "Succeeded" ||
    phase === "Failed" ||
    phase === "Pending" ||
    phase === undefined ||
    Boolean(pod.metadata.deletionTimestamp)
  );
}

/** Takes one disruption from the budget of the pod, or throws. */
function spend(parts: EvictionParts, pod: ApiObject, dryRun: boolean): void {
  const budgets = parts.registry.get("policy", "poddisruptionbudgets");
  const table = budgets?.table;
  if (!table) return;
  const namespace = pod.metadata.namespace ?? "";
  const matching = table.rangeEntries(`${namespace}/`).filter(([, budget]) => covers(budget, pod));
  if (matching.length === 0) return;
  if (matching.length > 1)
    throw failure({
      code: 500,
      reason: "",
      message:
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    });
  const [key, budget] = matching[0] as [string, ApiObject];
  const status = (budget.status ?? {}) as JsonObject;
  if (!isReady(pod) && allowsUnhealthy(budget, status)) return;
  checkBudget(budget, status);
  if (dryRun) return;
  const disrupted = { ...((status.disruptedPods as JsonObject | undefined) ?? {}) };
  disrupted[pod.metadata.name] = formatTime(parts.world.clock.now());
  const next = {
    ...budget,
    metadata: { ...budget.metadata },
    status: {
      ...status,
      disruptionsAllowed: Number(status.disruptionsAllowed ?? 0) - 1,
      disruptedPods: disrupted,
    },
  };
  parts.store.update(table, key, next, budget);
}

function covers(budget: ApiObject, pod: ApiObject): boolean {
  const selector = (budget.spec as JsonObject | undefined)?.selector as LabelSelectorObject | undefined;
  return matchesLabels(labelSelectorFrom(selector), pod.metadata.labels);
}

function isReady(pod: ApiObject): boolean {
  const conditions = ((pod.status as JsonObject | undefined)?.conditions as JsonObject[] | undefined) ?? [];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

/** A pod that is not ready may go when the budget says so, or when the others suffice. */
function allowsUnhealthy(budget: ApiObject, status: JsonObject): boolean {
  const policy = (budget.spec as JsonObject | undefined)?.unhealthyPodEvictionPolicy ?? "IfHealthyBudget";
  if (policy === "AlwaysAllow") return true;
  const current = Number(status.currentHealthy ?? 0);
  const desired = Number(status.desiredHealthy ?? 0);
  return current >= desired && desired > 0;
}

function checkBudget(budget: ApiObject, status: JsonObject): void {
  const { name, generation = 0 } = budget.metadata;
  const refuse = (message: string, retryAfterSeconds: number) =>
    tooManyRequests(refusal, retryAfterSeconds, [{ reason: budgetCause, message }]);
  if (Number(status.observedGeneration ?? 0) < generation)
    throw refuse(`The disruption budget ${name} is still being processed by the server.`, 10);
  const allowed = Number(status.disruptionsAllowed ?? 0);
  if (allowed < 0)
    throw forbidden(
      { group: "policy", resource: "poddisruptionbudgets" },
      name,
      "pdb disruptions allowed is negative",
    );
  if (Object.keys((status.disruptedPods as JsonObject | undefined) ?? {}).length > 2000)
    throw forbidden(
      { group: "policy", resource: "poddisruptionbudgets" },
      name,
      "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
    );
  if (allowed === 0) {
    const needs = `The disruption budget ${name} needs ${Number(status.desiredHealthy ?? 0)} healthy pods and has ${Number(status.currentHealthy ?? 0)} currently`;
    throw refuse(needs, 0);
  }
}

function markDisrupted(parts: EvictionParts, exchange: Exchange, name: string): void {
  const { resource } = exchange;
  const table = tableOf(resource);
  const key = keyFor(resource, namespaceOf(exchange), name);
  const pod = table.get(key);
  if (!pod) return;
  const status = (pod.status ?? {}) as JsonObject;
  const conditions = ((status.conditions as JsonObject[] | undefined) ?? []).filter(
    ({ type }) => type !== "DisruptionTarget",
  );
  conditions.push({
    type: "DisruptionTarget",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: formatTime(parts.world.clock.now()),
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
  });
  const next = { ...pod, metadata: { ...pod.metadata }, status: { ...status, conditions } };
  parts.store.update(table, key, next, pod);
}
