/** Volumes, claims, classes, drivers. */
import type {
  CSIDriver,
  CSINode,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from "@keelson/core/kinds";
import { accessModesCell, ageCell, type Cell, nameOf, none, unset } from "./cells.ts";

const betaClass = "volume.beta.kubernetes.io/storage-class";

export const volumeRow = (volume: PersistentVolume, nowMs: number): Cell[] => {
  const { spec, status, metadata } = volume;
  const claim = spec?.claimRef;
  return [
    nameOf(volume),
    String(spec?.capacity?.storage ?? "0"),
    accessModesCell(spec?.accessModes),
    spec?.persistentVolumeReclaimPolicy ?? "",
    metadata?.deletionTimestamp ? "Terminating" : (status?.phase ?? ""),
    claim ? `${claim.namespace ?? ""}/${claim.name ?? ""}` : "",
    metadata?.annotations?.[betaClass] ?? spec?.storageClassName ?? "",
    spec?.volumeAttributesClassName ?? unset,
    status?.reason ?? "",
    ageCell(volume, nowMs),
    spec?.volumeMode ?? unset,
  ];
};

export const claimRow = (claim: PersistentVolumeClaim, nowMs: number): Cell[] => {
  const { spec, status, metadata } = claim;
  const bound = Boolean(spec?.volumeName);
  return [
    nameOf(claim),
    metadata?.deletionTimestamp ? "Terminating" : (status?.phase ?? ""),
    spec?.volumeName ?? "",
    bound ? String(status?.capacity?.storage ?? "0") : "",
    bound ? accessModesCell(status?.accessModes) : "",
    metadata?.annotations?.[betaClass] ?? spec?.storageClassName ?? "",
    spec?.volumeAttributesClassName ?? unset,
    ageCell(claim, nowMs),
    spec?.volumeMode ?? unset,
  ];
};

const defaultAnnotations = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

export const storageClassRow = (object: StorageClass, nowMs: number): Cell[] => {
  const isDefault = defaultAnnotations.some((key) => object.metadata?.annotations?.[key] === "true");
  return [
    isDefault ? `${nameOf(object)} (default)` : nameOf(object),
    object.provisioner,
    object.reclaimPolicy ?? "Delete",
    object.volumeBindingMode ?? "Immediate",
    object.allowVolumeExpansion ?? false,
    ageCell(object, nowMs),
  ];
};

export const volumeAttributesClassRow = (object: VolumeAttributesClass, nowMs: number): Cell[] => [
  nameOf(object),
  object.driverName,
  ageCell(object, nowMs),
];

export const csiDriverRow = (driver: CSIDriver, nowMs: number): Cell[] => {
  const { spec } = driver;
  return [
    nameOf(driver),
    spec?.attachRequired ?? true,
    spec?.podInfoOnMount ?? false,
    spec?.storageCapacity ?? false,
    spec?.tokenRequests ? spec.tokenRequests.map(({ audience }) => audience).join(",") : unset,
    spec?.requiresRepublish ?? false,
    (spec?.volumeLifecycleModes ?? []).join(",") || none,
    ageCell(driver, nowMs),
  ];
};

export const csiNodeRow = (node: CSINode, nowMs: number): Cell[] => [
  nameOf(node),
  node.spec?.drivers?.length ?? 0,
  ageCell(node, nowMs),
];

export const volumeAttachmentRow = (attachment: VolumeAttachment, nowMs: number): Cell[] => [
  nameOf(attachment),
  attachment.spec?.attacher ?? "",
  attachment.spec?.source?.persistentVolumeName ?? "",
  attachment.spec?.nodeName ?? "",
  attachment.status?.attached ?? false,
  ageCell(attachment, nowMs),
];
