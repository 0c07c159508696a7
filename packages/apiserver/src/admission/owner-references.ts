/** OwnerReferencesPermissionEnforcement: owners are named by those who could have deleted the object anyway. */
import { deepEqual, type OwnerReference, parseApiVersion } from "@keelson/core";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";
import type { Attributes } from "../contracts/authorization.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { PluginContext } from "../contracts/plugin.ts";
import { refused } from "./refusals.ts";

function ownersOf(object: ApiObject | undefined): readonly OwnerReference[] {
  return (object?.metadata.ownerReferences as unknown as OwnerReference[] | undefined) ?? [];
}

function newlyBlocking(request: AdmissionRequest): OwnerReference[] {
  const before = new Map(ownersOf(request.oldObject).map((owner) => [owner.uid, owner]));
  return ownersOf(request.object).filter(
    ({ uid, blockOwnerDeletion }) => blockOwnerDeletion && !before.get(uid)?.blockOwnerDeletion,
  );
}

export function ownerReferencesPermissionEnforcement({ authorizer, kinds }: PluginContext): AdmissionPlugin {
  const about = (request: AdmissionRequest, over: Partial<Attributes>): Attributes => ({
    user: request.user,
    verb: "update",
    resourceRequest: true,
    group: "*",
    version: "*",
    resource: "*",
    subresource: "finalizers",
    namespace: "",
    name: "*",
    path: "",
    ...over,
  });
  return {
    name: "OwnerReferencesPermissionEnforcement",
    async validate(request) {
      const { resource, operation, subresource, namespace, name } = request;
      if (operation !== "CREATE" && operation !== "UPDATE") return;
      // The kubelet reports the state of pods it may not delete.
      if (resource.group === "" && resource.resource === "pods" && subresource === "status") return;
      if (deepEqual(ownersOf(request.object), ownersOf(request.oldObject))) return;
      if (operation === "UPDATE") {
        const { decision, reason } = await authorizer.authorize(
          about(request, { verb: "delete", ...resource, subresource, namespace, name }),
        );
        if (decision !== "allow")
          throw refused(request, `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`);
      }
      const blocking = newlyBlocking(request);
      if (blocking.length === 0) return;
      if ((await authorizer.authorize(about(request, {}))).decision === "allow") return;
      for (const owner of blocking) {
        const { group, version } = parseApiVersion(owner.apiVersion);
        const served = kinds(group, owner.kind);
        if (!served)
          throw refused(
            request,
            `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${owner.apiVersion} Kind ${owner.kind}: no matches for kind ${JSON.stringify(owner.kind)} in version ${JSON.stringify(owner.apiVersion)}`,
          );
        const { decision, reason } = await authorizer.authorize(
          about(request, {
            group,
            version,
            resource: served.resource,
            name: owner.name,
            namespace: served.namespaced ? namespace : "",
          }),
        );
        if (decision !== "allow")
          throw refused(
            request,
            `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reason}, <nil>`,
          );
      }
    },
  };
}
