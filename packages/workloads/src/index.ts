/** Pure Kubernetes rules that several parts of the cluster share: what pods ask for, quotas, template hashes. */
export { type HostPort, hostPortsOf, portsConflict } from "./host-ports.ts";
export {
  matchesNode,
  matchesNodeSelector,
  matchesTerm,
  type NodeObject,
  requiredNodeNames,
} from "./node-selector.ts";
export {
  addNumbers,
  podRequests,
  type ResourceNumbers,
  resourceNumbers,
  scoringRequests,
} from "./pod-requests.ts";
export {
  type Amounts,
  addAmounts,
  amountsOf,
  containerAmounts,
  isPodLevelResource,
  podAmounts,
} from "./pod-resources.ts";
export {
  isPodActive,
  isPodAvailable,
  isPodFinished,
  isPodReady,
  isPodTerminating,
  nextAvailabilityMs,
  type PodObject,
  podCondition,
  readySince,
} from "./pod-state.ts";
export { type QosClass, qosClassOf } from "./quality-of-service.ts";
export { type Evaluator, evaluatorOf, type QuotaRequest } from "./quota-usage.ts";
export { isTolerated, type TaintEffect, tolerates, untolerated } from "./taints.ts";
export { templateHash } from "./template/template-hash.ts";
export {
  byRevision,
  isSamePatch,
  nextRevision,
  patchedTemplate,
  type RevisionObject,
  revisionHash,
  revisionName,
  templatePatch,
} from "./template/template-patch.ts";
