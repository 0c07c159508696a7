/** A typed Kubernetes client. */
export type {
  ApplyOptions,
  Client,
  DeleteOptions,
  JsonPatchOperation,
  KindClient,
  List,
  ListOptions,
  Patch,
  RawRequest,
  RequestOptions,
  SelectOptions,
  Subresource,
  SubresourceClient,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./client.ts";
