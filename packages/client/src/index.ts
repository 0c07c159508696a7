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
} from "./client.ts";
export { type ConnectOptions, connect, loadKubeconfig } from "./connect.ts";
export { type ClientConfig, createClient } from "./create-client.ts";
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
  isTooManyRequests,
  isTransient,
  isUnauthorized,
} from "./errors.ts";
export type {
  ClusterEntry,
  ContextEntry,
  ExecEntry,
  Kubeconfig,
  KubeconfigDocument,
  UserEntry,
} from "./kubeconfig/kubeconfig.ts";
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
export type { ServerWarning } from "./requester.ts";
export { systemClock, systemProcess, systemRandom, systemWorld } from "./system.ts";
export type { Credential, Credentials, Transport, TransportSettings } from "./transport/transport.ts";
export { type Decoder, Decoding, ReceivedObject, uidIn, versionIn } from "./watch/received.ts";
export { compareResourceVersions } from "./watch/resource-version.ts";
