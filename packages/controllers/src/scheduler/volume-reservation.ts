/** Reserves volumes for the claims of a pod whose node is chosen, and asks for those that must be made. */
import { PersistentVolume, PersistentVolumeClaim } from "@keelson/core/kinds";
import type { Acting } from "../acting/acting.ts";
import { annotations } from "../volumes/matching.ts";
import { reservedVolume } from "../volumes/reservation.ts";
import type { VolumePlan } from "./filters/volumes.ts";

export async function reserveVolumes(acting: Acting, plan: VolumePlan, node: string): Promise<void> {
  for (const { claim, volume } of plan.bindings) {
    await acting.kind(PersistentVolume).update(reservedVolume(volume, claim));
  }
  for (const claim of plan.provisions) {
    await acting.kind(PersistentVolumeClaim).update({
      ...claim,
      metadata: {
        ...claim.metadata,
        annotations: { ...claim.metadata.annotations, [annotations.selectedNode]: node },
      },
    });
  }
}
