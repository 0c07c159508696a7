/** The kinds the node deals with, under names that do not collide. */
export {
  ConfigMap,
  EndpointSlice,
  Event as CoreEvent,
  Lease,
  Namespace,
  NetworkPolicy,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
  ServiceAccount,
  SubjectAccessReview,
  TokenReview,
} from "@keelson/core/kinds";
