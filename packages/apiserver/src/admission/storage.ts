/** Admission of storage: default classes, protection of what is in use, growing claims. */
import { Quantity } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import type { Ingress, IngressClass, PersistentVolumeClaim, StorageClass } from "@keelson/core/kinds";
import type { AdmissionPlugin } from "../contracts/admission.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { StoreReader } from "../contracts/store.ts";
import { isFor, refused } from "./refusals.ts";

const classes = { group: "storage.k8s.io", resource: "storageclasses" };
const betaClass = "volume.beta.kubernetes.io/storage-class";
const defaultAnnotations = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

/** The newest of those marked as default; of equally old ones the first by name. */
function newest<T extends ApiObject>(marked: readonly T[]): T | undefined {
  const created = ({ metadata }: T) => String(metadata.creationTimestamp ?? "");
  return [...marked].sort((a, b) =>
    created(a) === created(b)
      ? a.metadata.name.localeCompare(b.metadata.name)
      : created(b).localeCompare(created(a)),
  )[0];
}

function classOf(claim: PersistentVolumeClaim): string | undefined {
  return claim.metadata?.annotations?.[betaClass] ?? claim.spec?.storageClassName;
}

/** DefaultStorageClass */
export function defaultStorageClass(store: StoreReader): AdmissionPlugin {
  return {
    name: "DefaultStorageClass",
    admit(request) {
      if (!isFor(request, "", "persistentvolumeclaims") || request.operation !== "CREATE") return;
      const claim = request.object as unknown as PersistentVolumeClaim;
      if (classOf(claim) !== undefined || !claim.spec) return;
      const found = newest(
        store
          .list(classes)
          .filter(({ metadata }) => defaultAnnotations.some((key) => metadata.annotations?.[key] === "true")),
      );
      if (found) claim.spec.storageClassName = found.metadata.name;
    },
  };
}

const protection: Readonly<Record<string, string>> = lookupTable({
  "/persistentvolumes": "kubernetes.io/pv-protection",
  "/persistentvolumeclaims": "kubernetes.io/pvc-protection",
  "storage.k8s.io/volumeattributesclasses": "kubernetes.io/vac-protection",
});

/** StorageObjectInUseProtection: what is in use is not deleted under its user. */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  admit({ resource, subresource, operation, object }) {
    if (operation !== "CREATE" || subresource !== "" || !object) return;
    const finalizer = protection[`${resource.group}/${resource.resource}`];
    if (!finalizer) return;
    const { finalizers = [] } = object.metadata;
    if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
  },
};

/** PersistentVolumeClaimResize: only what the class allows to grow may grow. */
export function persistentVolumeClaimResize(store: StoreReader): AdmissionPlugin {
  return {
    name: "PersistentVolumeClaimResize",
    validate(request) {
      if (!isFor(request, "", "persistentvolumeclaims") || request.operation !== "UPDATE") return;
      const claim = request.object as unknown as PersistentVolumeClaim;
      const old = request.oldObject as unknown as PersistentVolumeClaim;
      const size = ({ spec }: PersistentVolumeClaim) =>
        Quantity.from(spec?.resources?.requests?.storage ?? 0);
      if (size(claim).compare(size(old)) <= 0) return;
      if (old.status?.phase !== "Bound")
        throw refused(request, "Only bound persistent volume claims can be expanded");
      const name = classOf(claim);
      const found =
        name && name === classOf(old) ? (store.get(classes, "", name) as unknown as StorageClass) : undefined;
      if (!found?.allowVolumeExpansion)
        throw refused(
          request,
          "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
        );
    },
  };
}

/** DefaultIngressClass */
export function defaultIngressClass(store: StoreReader): AdmissionPlugin {
  return {
    name: "DefaultIngressClass",
    admit(request) {
      if (!isFor(request, "networking.k8s.io", "ingresses") || request.operation !== "CREATE") return;
      const ingress = request.object as unknown as Ingress;
      if (ingress.spec?.ingressClassName !== undefined) return;
      if (ingress.metadata?.annotations?.["kubernetes.io/ingress.class"] !== undefined) return;
      const found = newest(
        store
          .list({ group: "networking.k8s.io", resource: "ingressclasses" })
          .filter(
            (object) =>
              (object as unknown as IngressClass).metadata?.annotations?.[
                "ingressclass.kubernetes.io/is-default-class"
              ] === "true",
          ),
      );
      if (!found) return;
      ingress.spec ??= {};
      ingress.spec.ingressClassName = found.metadata.name;
    },
  };
}
