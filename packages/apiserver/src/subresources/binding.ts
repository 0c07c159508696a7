/** `/binding`: the scheduler's decision, written into the pod. */
import { formatTime, type JsonObject } from "@keelson/core";
import { aggregateText, notSupportedField, requiredField } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, conflict, failure } from "../contracts/status-error.ts";
import { jsonResponse } from "../messages/response.ts";
import type { Registry } from "../registry/registry.ts";
import type { Admission } from "../rest/admission.ts";
import { decodeKind, success } from "../rest/embedded-kinds.ts";
import { readBody, strategyContext, type World } from "../rest/exchange.ts";
import type { ObjectStore } from "../rest/object-store.ts";
import { writeOptions } from "../rest/options.ts";
import type { SubresourceHandler } from "../rest/subresources.ts";
import { admissionOptions } from "../rest/writes.ts";

const kind = { group: "", version: "v1", kind: "Binding" };

export interface BindingParts {
  readonly objects: ObjectStore;
  readonly admission: Admission;
  readonly world: World;
  readonly registry: Registry;
}

/** Serves `pods/binding`, and `bindings` with the pod's name in the body. */
export function bindingHandler(parts: BindingParts): SubresourceHandler {
  return async (exchange, negotiated) => {
    const options = writeOptions("CreateOptions", exchange.info.query);
    const body = await readBody(exchange, "Binding");
    const binding = decodeKind(kind, body.value);
    const name = exchange.info.name || binding.metadata.name;
    if (exchange.info.name && binding.metadata.name && binding.metadata.name !== exchange.info.name)
      throw badRequest(`name in URL does not match name in Binding object`);
    const admitted = (await parts.admission.admit(exchange, {
      operation: "CREATE",
      dryRun: options.dryRun,
      options: admissionOptions(options, false),
      object: binding,
      oldObject: undefined,
      kind,
      name,
    })) as ApiObject;
    checkTarget(admitted);
    const pods = parts.registry.get("", "pods");
    if (!pods) throw new Error("pods are not served");
    await parts.objects.update({
      resource: pods,
      name,
      context: strategyContext({ ...exchange, resource: pods }, parts.world, options.dryRun),
      create: false,
      uidPrecondition: true,
      unconditional: true,
      subresource: "binding",
      warn: (text) => exchange.warnings.add(text),
      build: async (existing) => assign(existing as ApiObject, admitted, parts.world.clock.now()),
      validate: async () => {},
    });
    return jsonResponse(201, success(201), negotiated);
  };
}

function checkTarget(binding: ApiObject): void {
  const target = (binding.target ?? {}) as JsonObject;
  const errors = [];
  if (target.kind && target.kind !== "Node")
    errors.push(notSupportedField("target.kind", target.kind, ["Node", "<empty>"]));
  if (!target.name) errors.push(requiredField("target.name"));
  if (errors.length > 0) throw failure({ code: 500, reason: "", message: aggregateText(errors) });
}

function assign(pod: ApiObject, binding: ApiObject, nowMs: number): ApiObject {
  const { name } = pod.metadata;
  const node = String((binding.target as JsonObject).name);
  const spec = (pod.spec ?? {}) as JsonObject;
  const refuse = (why: string) => conflict({ group: "", resource: "pods/binding" }, name, why);
  if (pod.metadata.deletionTimestamp)
    throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
  if (spec.nodeName) throw refuse(`pod ${name} is already assigned to node "${String(spec.nodeName)}"`);
  if (((spec.schedulingGates as unknown[] | undefined) ?? []).length > 0)
    throw refuse(`pod ${name} has non-empty .spec.schedulingGates`);
  const { uid, resourceVersion } = binding.metadata;
  const metadata = { ...pod.metadata, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  if (binding.metadata.annotations)
    metadata.annotations = { ...metadata.annotations, ...binding.metadata.annotations };
  if (binding.metadata.labels) metadata.labels = { ...metadata.labels, ...binding.metadata.labels };
  return { ...pod, metadata, spec: { ...spec, nodeName: node }, status: scheduled(pod, nowMs) };
}

function scheduled(pod: ApiObject, nowMs: number): JsonObject {
  const { nominatedNodeName: _, ...status } = (pod.status ?? {}) as JsonObject;
  const conditions = ((status.conditions as JsonObject[] | undefined) ?? []).filter(
    ({ type }) => type !== "PodScheduled",
  );
  const condition = {
    type: "PodScheduled",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: formatTime(nowMs),
  };
  return { ...status, conditions: [...conditions, condition] };
}
