/** NamespaceLifecycle: objects live in namespaces that exist and are not about to end. */

import type { AdmissionPlugin } from "../contracts/admission.ts";
import { forbidden, notFound } from "../contracts/status-error.ts";
import type { StoreReader } from "../contracts/store.ts";
import { refused } from "./refusals.ts";

const namespaces = { group: "", resource: "namespaces" };
const immortal = new Set(["default", "kube-system", "kube-public"]);

export function namespaceLifecycle(store: StoreReader): AdmissionPlugin {
  return {
    name: "NamespaceLifecycle",
    admit(request) {
      const { operation, resource, namespace, name, kind } = request;
      if (kind.kind === "Namespace" && kind.group === "") {
        if (operation === "DELETE" && immortal.has(name))
          throw forbidden(namespaces, name, "this namespace may not be deleted");
        return;
      }
      if (!namespace || operation === "DELETE" || operation === "CONNECT") return;
      // Reviews answer questions; they add nothing to the namespace.
      if (resource.resource === "localsubjectaccessreviews") return;
      const found = store.get(namespaces, "", namespace);
      if (!found) throw notFound(namespaces, namespace);
      if (operation !== "CREATE") return;
      if ((found.status as { phase?: string } | undefined)?.phase !== "Terminating") return;
      throw refused(
        request,
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
