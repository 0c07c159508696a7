/** A typed Kubernetes client. */
export type {
  ApplyOptions,
  Client,
  DeleteOptions,
  Impersonation,
  JsonPatchOperation,
  KindClient,
  List,
  ListOptions,
  MetadataOnly,
  Patch,
  RawRequest,
  ReflectEvent,
  Reflection,
  ReflectOptions,
  RequestOptions,
  RestartReason,
  SelectOptions,
  Subresource,
  SubresourceClient,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./client/client.ts";
export {
  ApiError,
  type ApiErrorOptions,
  ClientError,
  type ClientErrorCode,
  isAbsent,
  isAlreadyExists,
  isApiError,
  isConflict,
  isExpired,
  isForbidden,
  isInvalid,
  isNotFound,
  isOutcomeUnknown,
  isRefused,
  isTooManyRequests,
  isTransient,
  isUnauthorized,
} from "./errors.ts";
export { type ConnectOptions, connect, loadKubeconfig } from "./kubeconfig/connect.ts";
export type {
  ClusterEntry,
  ContextEntry,
  ExecEntry,
  Kubeconfig,
  KubeconfigDocument,
  UserEntry,
} from "./kubeconfig/kubeconfig.ts";
export { ReceivedObject } from "./objects/received.ts";
export { compareResourceVersions } from "./objects/resource-version.ts";
export type { LogOptions } from "./pods/logs.ts";
export { type PodClient, pods } from "./pods/pods.ts";
export type { ForwardedPort, ForwardOptions, PortForwardOptions } from "./pods/port-forward.ts";
export type {
  AttachOptions,
  ExecOptions,
  RemoteProcess,
  RunOptions,
  RunResult,
  TerminalSize,
} from "./pods/remote-process.ts";
export type { ServerWarning } from "./request/requester.ts";
export { systemWorld } from "./system.ts";
export type { Credential, Credentials, TransportSettings } from "./transport/transport.ts";
export { type ClientConfig, createClient } from "./verbs/create-client.ts";
