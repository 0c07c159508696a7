/** Admission: objects live in namespaces that exist and are not about to end. */

import type { AdmissionPlugin } from "../contracts/admission.ts";
import { forbidden, notFound } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";

const immortal = new Set(["default", "kube-system", "kube-public"]);

export function namespaceLifecycle(store: StoreReader): AdmissionPlugin {
  return {
    name: "NamespaceLifecycle",
    admit(request) {
      const { operation, resource, namespace, name, kind } = request;
      const isNamespace = resource.group === "" && resource.resource === "namespaces";
      if (isNamespace) {
        if (operation === "DELETE" && immortal.has(name))
          throw forbidden({ group: "", resource: "namespaces" }, name, "this namespace may not be deleted");
        return;
      }
      if (!namespace || operation === "DELETE") return;
      const found = store.get({ group: "", resource: "namespaces" }, "", namespace);
      if (!found) {
        if (operation === "UPDATE") return;
        throw notFound({ group: "", resource: "namespaces" }, namespace);
      }
      if (operation !== "CREATE") return;
      const phase = (found.status as { phase?: string } | undefined)?.phase;
      if (phase !== "Terminating") return;
      // Reviews answer questions; they add nothing to the namespace.
      if (kind.kind === "LocalSubjectAccessReview") return;
      throw forbidden(
        { group: resource.group, resource: resource.resource },
        name || request.object?.metadata.name || "",
        `unable to create new content in namespace ${namespace} because it is being terminated`,
        [
          {
            reason: "NamespaceTerminating",
            message: `namespace ${namespace} is being terminated`,
            field: "metadata.namespace",
          },
        ],
      );
    },
  };
}
