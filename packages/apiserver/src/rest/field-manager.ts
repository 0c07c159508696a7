/** Ownership of fields on every write, for the resource and path that is written to. */
import { type Clock, formatTime, type JsonObject } from "@keelson/core";
import {
  applyPatch,
  applyUpdateOrClear,
  FieldSet,
  type ManagedResource,
  MergeError,
  type TypeRef,
  type Versioned,
  zeroObject,
} from "@keelson/core/internal/merge";
import { statusResetsMetadata } from "../builtin/facts.ts";
import type { ApiObject } from "../contracts/object.ts";
import { applyConflict, badRequest, failure } from "../contracts/status-error.ts";
import { type ApiResource, apiVersionText } from "../registry/api-resource.ts";
import type { Conversions } from "./conversions.ts";

const statusSet = FieldSet.of(["f:status"]);
const specSet = FieldSet.of(["f:spec"]);
const specAndMetadata = FieldSet.of(["f:spec"], ["f:metadata"]);

/** Fields that a path never takes over, because it resets them. */
export function resetFieldsOf(resource: ApiResource, subresource: string): FieldSet | undefined {
  const name = resource.group ? `${resource.resource}.${resource.group}` : resource.resource;
  switch (subresource) {
    case "":
      if (name === "certificatesigningrequests.certificates.k8s.io")
        return FieldSet.of(["f:spec"], ["f:status"]);
      // A custom resource whose status is like any other field keeps it.
      return resource.custom && !hasStatusPath(resource) ? undefined : statusSet;
    case "status":
      if (resource.custom || statusResetsMetadata.has(name)) return specAndMetadata;
      if (name === "deployments.apps") return FieldSet.of(["f:spec"], ["f:metadata", "f:labels"]);
      if (name === "pods")
        return FieldSet.of(
          ["f:spec"],
          ["f:metadata", "f:deletionTimestamp"],
          ["f:metadata", "f:ownerReferences"],
        );
      if (name === "certificatesigningrequests.certificates.k8s.io")
        return FieldSet.of(["f:spec"], ["f:status", "f:conditions"]);
      return specSet;
    case "approval":
      return FieldSet.of(["f:spec"], ["f:status", "f:certificate"]);
    case "finalize":
      return statusSet;
    default:
      return undefined;
  }
}

function hasStatusPath(resource: ApiResource): boolean {
  return [...resource.versions.values()].some(({ subresources }) => subresources.has("status"));
}

export interface ManagedWrite {
  readonly resource: ApiResource;
  readonly version: string;
  readonly subresource: string;
  readonly manager: string;
  /** For kinds that convert by webhook; without them, what was owned in other versions is forgotten. */
  readonly conversions?: Conversions | undefined;
}

/** What does not change from one write to the next. */
const descriptions = new WeakMap<ApiResource, Map<string, ManagedResource>>();

export class FieldManager {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The draft with the ownership that a write other than apply leaves. */
  update(write: ManagedWrite, live: ApiObject | undefined, draft: ApiObject): ApiObject {
    return applyUpdateOrClear({
      resource: this.#managed(write),
      ...(live && { live }),
      updated: draft,
      manager: write.manager,
      now: formatTime(this.#clock.now()),
    }) as ApiObject;
  }

  /** The live object with the configuration applied. Throws 409 on conflicts, 400 or 500 on what cannot be applied. */
  apply(write: ManagedWrite, live: ApiObject | undefined, config: JsonObject, force: boolean): JsonObject {
    try {
      const result = applyPatch({
        resource: this.#managed(write),
        ...(live && { live }),
        config,
        manager: write.manager,
        force,
        now: formatTime(this.#clock.now()),
      });
      if (result.conflicts) throw applyConflict(result.causes, result.message);
      return result.object;
    } catch (error) {
      if (!(error instanceof MergeError)) throw error;
      if (error.code === "BadApply") throw badRequest(error.message);
      throw failure({ code: 500, reason: "", message: error.message, cause: error });
    }
  }

  #managed(write: ManagedWrite): ManagedResource {
    const { resource, version, subresource } = write;
    // A version that is served no more may still have owners.
    const convert = resource.versions.size > 1 || resource.type.convertBare !== undefined;
    const type = resource.type.mergeType(version);
    const key = `${version}/${subresource}`;
    let known = descriptions.get(resource);
    if (!known) {
      known = new Map();
      descriptions.set(resource, known);
    }
    let described = known.get(key);
    // The type of a custom resource changes with its definition.
    if (described?.type !== type) {
      described = this.#describe(write, type);
      known.set(key, described);
    }
    if (!convert) return described;
    return { ...described, convert: (object, to) => this.#convert(write, object, to) };
  }

  #describe({ resource, version, subresource }: ManagedWrite, type: TypeRef): ManagedResource {
    const reset = resetFieldsOf(resource, subresource);
    const apiVersion = apiVersionText(resource, version);
    const resetFields =
      reset && new Map([...resource.versions.keys()].map((name) => [apiVersionText(resource, name), reset]));
    return {
      apiVersion,
      kind: resource.kind,
      type,
      ...(subresource && { subresource }),
      ...(resetFields && { resetFields }),
      ...(!resource.custom && { zero: zeroObject(type) }),
    };
  }

  #convert(write: ManagedWrite, object: JsonObject, apiVersion: string): Versioned | undefined {
    const { resource, conversions } = write;
    const { type, versions } = resource;
    const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
    const convert = () => {
      if (type.convertBare) return type.convertBare(object as ApiObject, version);
      return versions.has(version) ? type.convert(object as ApiObject, version) : undefined;
    };
    const converted = conversions ? conversions.of(object, apiVersion, convert) : convert();
    if (converted instanceof Promise) {
      converted.catch(() => undefined);
      return undefined;
    }
    if (!converted) return undefined;
    return { object: converted, type: type.mergeType(version) };
  }
}

/** The manager of a write without one: the name part of the user agent. */
export function managerFromUserAgent(userAgent: string | undefined): string {
  const name = (userAgent ?? "").split("/", 1)[0] ?? "";
  // No character takes more than three bytes of the 128 that there may be.
  return name.length <= 42 ? name : Buffer.from(name).subarray(0, 128).toString();
}
