/** From a PersistentVolumeClaim to what decisions care about. */
import type { ObjectOf } from "keelson";
import type { PersistentVolumeClaim } from "keelson/kinds";
import { annotations } from "../api/names.ts";
import type { ClaimView } from "./observed.ts";

export function claimView(claim: ObjectOf<typeof PersistentVolumeClaim>): ClaimView {
  const { metadata, spec, status } = claim;
  const notes = metadata.annotations ?? {};
  return {
    uid: metadata.uid,
    deleting: metadata.deletionTimestamp !== undefined,
    lost: status?.phase === "Lost",
    bound: status?.phase === "Bound",
    className: notes[annotations.storageClass] ?? "",
    requested: spec?.resources?.requests?.["storage"] ?? "0",
    clusterUid: notes[annotations.clusterUid],
    clusterId: notes[annotations.clusterId],
    memberId: notes[annotations.memberId],
    fenced: notes[annotations.fenced] !== undefined,
    needsRestart: status?.conditions?.some(({ type }) => type === "FileSystemResizePending") ?? false,
  };
}
