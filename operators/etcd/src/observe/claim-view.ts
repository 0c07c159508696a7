/** The part of a PersistentVolumeClaim that decisions depend on. */
import type { ObjectOf } from "keelson";
import type { PersistentVolumeClaim } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import type { ClaimView } from "./observed.ts";

export function claimView(
  claim: ObjectOf<typeof PersistentVolumeClaim>,
  labels: Readonly<Record<string, string>>,
): ClaimView {
  const { metadata, spec, status } = claim;
  const found = metadata.annotations ?? {};
  return {
    uid: metadata.uid,
    deleting: metadata.deletionTimestamp !== undefined,
    lost: status?.phase === "Lost",
    bound: status?.phase === "Bound",
    className: found[annotations.storageClass] ?? "",
    requested: spec?.resources?.requests?.["storage"] ?? "0",
    selectedNode: found["volume.kubernetes.io/selected-node"],
    clusterUid: found[annotations.clusterUid],
    clusterId: found[annotations.clusterId],
    memberId: found[annotations.memberId],
    etcdVersion: found[annotations.etcdVersion],
    peerScheme: found[annotations.peerScheme],
    fenced: found[annotations.fenced] !== undefined,
    drifted: Object.entries(labels).some(([label, value]) => metadata.labels?.[label] !== value),
    needsRestart: status?.conditions?.some(({ type }) => type === "FileSystemResizePending") ?? false,
  };
}
