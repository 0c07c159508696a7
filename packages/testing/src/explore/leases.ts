/** The Leases of a scenario's managers, which disturbances touch and oracles watch. */
import type { ApiObject } from "@keelson/apiserver";
import { leaseName } from "../manager.ts";

/** As the API server stores them. */
export const leases = "coordination.k8s.io/leases";

/** Applications may have Leases of their own. */
export function isOfManagers({ metadata }: ApiObject): boolean {
  return metadata.name === leaseName;
}
