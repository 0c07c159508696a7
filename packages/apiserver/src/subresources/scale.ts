/** `/scale`: replica counts as `autoscaling/v1 Scale`, read from and written to the object itself. */
import type { JsonObject, JsonValue, ManagedFieldsEntry } from "@keelson/core";
import { type Path, parentEntries, type ReplicasPaths, scaleEntries } from "@keelson/core/internal/merge";
import { builtinMergeType } from "../builtin/object-type.ts";
import { invalidField } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest, invalid, methodNotAllowed } from "../contracts/status-error.ts";
import { header } from "../messages/message.ts";
import { jsonResponse } from "../messages/response.ts";
import {
  type ApiResource,
  apiVersionText,
  type ObjectType,
  type ScaleAccess,
} from "../registry/api-resource.ts";
import type { Admission } from "../rest/admission.ts";
import { decodeKind } from "../rest/embedded-kinds.ts";
import { type Exchange, readBody, strategyContext, type World } from "../rest/exchange.ts";
import { type FieldManager, managerFromUserAgent } from "../rest/field-manager.ts";
import type { ObjectStore } from "../rest/object-store.ts";
import { type WriteOptions, writeOptions } from "../rest/options.ts";
import { readPatch } from "../rest/patch.ts";
import type { Reads } from "../rest/reads.ts";
import type { SubresourceHandler } from "../rest/subresources.ts";
import { admissionOptions } from "../rest/writes.ts";

const definition = "io.k8s.api.autoscaling.v1.Scale";
const kind = { group: "autoscaling", version: "v1", kind: "Scale" };

export interface ScaleParts {
  readonly reads: Reads;
  readonly objects: ObjectStore;
  readonly admission: Admission;
  readonly fields: FieldManager;
  readonly world: World;
}

export function scaleHandler(parts: ScaleParts): SubresourceHandler {
  return async (exchange, negotiated) => {
    const access = exchange.resource.type.scale?.(exchange.version.name);
    if (!access) throw methodNotAllowed();
    const { verb } = exchange.info;
    if (verb === "get") {
      const object = await parts.reads.get(exchange);
      access.assertReadable?.(object);
      return jsonResponse(200, scaleOf(object, access), negotiated);
    }
    const object =
      verb === "update" ? await replace(parts, exchange, access) : await patch(parts, exchange, access);
    return jsonResponse(200, scaleOf(object, access), negotiated);
  };
}

export function scaleOf(object: ApiObject, access: ScaleAccess): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { replicas, statusReplicas, selector } = access.read(object);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
      ...(creationTimestamp && { creationTimestamp }),
    },
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: statusReplicas, ...(selector && { selector }) },
  };
}

async function replace(parts: ScaleParts, exchange: Exchange, access: ScaleAccess): Promise<ApiObject> {
  const options = writeOptions("UpdateOptions", exchange.info.query);
  const body = await readBody(exchange, "Scale");
  return write(parts, exchange, access, options, (live) => {
    const scale = decodeScale(body.value);
    return parts.fields.update(managed(exchange, options), live, scale);
  });
}

async function patch(parts: ScaleParts, exchange: Exchange, access: ScaleAccess): Promise<ApiObject> {
  const change = await readPatch(exchange);
  const options = writeOptions("PatchOptions", exchange.info.query, change.kind === "apply");
  const scaled = { ...exchange, resource: scaleResource, version: scaleVersion(exchange) };
  return write(parts, exchange, access, options, (live) => {
    const manage = managed(exchange, options);
    if (change.kind === "apply")
      return decodeScale(parts.fields.apply(manage, live, change.config as JsonObject, options.force));
    return parts.fields.update(manage, live, change.applyTo(scaled, live, options.fieldValidation));
  });
}

/** Changes the object's replica count to what `change` makes of its scale. */
async function write(
  parts: ScaleParts,
  exchange: Exchange,
  access: ScaleAccess,
  options: WriteOptions,
  change: (live: ApiObject) => ApiObject,
): Promise<ApiObject> {
  const { resource, version, info } = exchange;
  const { type } = resource;
  const { object } = await parts.objects.update({
    resource,
    name: info.name,
    context: strategyContext(exchange, parts.world, options.dryRun),
    create: false,
    uidPrecondition: true,
    unconditional: true,
    subresource: "scale",
    warn: (text) => exchange.warnings.add(text),
    build: async (existing) => {
      const live = await type.convert(existing as ApiObject, version.name);
      const paths = replicasPaths(resource);
      const oldScale = withEntries(scaleOf(live, access), scaleEntries(entriesOf(live), paths));
      let scale = change(oldScale);
      checkScale(exchange, scale);
      scale = (await parts.admission.admit(exchange, {
        operation: "UPDATE",
        dryRun: options.dryRun,
        options: admissionOptions(options, true),
        object: scale,
        oldObject: oldScale,
        kind,
      })) as ApiObject;
      const draft: ApiObject = { ...live, metadata: { ...live.metadata } };
      access.write(draft, Number((scale.spec as JsonObject | undefined)?.replicas ?? 0));
      const apiVersion = apiVersionText(resource, version.name);
      const entries = parentEntries(entriesOf(live), entriesOf(scale), paths, apiVersion);
      if (entries.length > 0) draft.metadata.managedFields = entries as unknown as JsonValue;
      else delete draft.metadata.managedFields;
      draft.metadata.resourceVersion = scale.metadata.resourceVersion ?? "";
      if (scale.metadata.uid) draft.metadata.uid = scale.metadata.uid;
      return type.toWorking(draft, version.name);
    },
    validate: async (stored, old) => {
      const shown = await type.convert(stored, version.name);
      await parts.admission.validate(exchange, {
        operation: "UPDATE",
        dryRun: options.dryRun,
        options: admissionOptions(options, true),
        object: scaleOf(shown, access),
        oldObject: old && scaleOf(await type.convert(old, version.name), access),
        kind,
      });
    },
  });
  return type.convert(object, version.name);
}

function checkScale({ info, resource }: Exchange, scale: ApiObject): void {
  const { name } = scale.metadata;
  if (!name && resource.custom)
    throw badRequest(
      `the name of the object (${info.name} based on URL) was undeterminable: name must be provided`,
    );
  if (!name) scale.metadata.name = info.name;
  else if (name !== info.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${info.name})`);
  const replicas = Number((scale.spec as JsonObject | undefined)?.replicas ?? 0);
  // A custom resource's own schema says what its replica count may be.
  if (replicas < 0 && !resource.custom)
    throw invalid({ group: "autoscaling", kind: "Scale" }, info.name, [
      invalidField("spec.replicas", replicas, "must be greater than or equal to 0"),
    ]);
}

function decodeScale(value: JsonValue): ApiObject {
  return decodeKind(kind, value);
}

function managed(exchange: Exchange, options: WriteOptions) {
  const { request } = exchange;
  return {
    resource: scaleResource,
    version: "v1",
    subresource: "scale",
    manager: options.fieldManager || managerFromUserAgent(header(request.headers, "user-agent")),
  };
}

function entriesOf(object: ApiObject): readonly ManagedFieldsEntry[] | undefined {
  return object.metadata.managedFields as ManagedFieldsEntry[] | undefined;
}

function withEntries(object: ApiObject, entries: ManagedFieldsEntry[]): ApiObject {
  if (entries.length === 0) return object;
  return { ...object, metadata: { ...object.metadata, managedFields: entries as unknown as JsonValue } };
}

/** Where each version of the resource keeps its replicas. */
function replicasPaths(resource: ApiResource): ReplicasPaths {
  const paths = new Map<string, Path | undefined>();
  for (const version of resource.versions.keys()) {
    const path = resource.type.scale?.(version)?.path;
    paths.set(
      apiVersionText(resource, version),
      path?.map((part) => `f:${part}`),
    );
  }
  return paths;
}

/** Scale as a resource of its own, for patches and ownership. */
const scaleType: Partial<ObjectType> = {
  strategicPatches: true,
  decode: (value) => decodeScale(value),
  mergeType: () => builtinMergeType(definition),
};
const scaleResource = {
  group: "autoscaling",
  resource: "scales",
  kind: "Scale",
  versions: new Map([["v1", {}]]),
  custom: false,
  type: scaleType,
} as unknown as ApiResource;

function scaleVersion({ version }: Exchange) {
  return { ...version, name: "v1" };
}
