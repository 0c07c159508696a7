/** The store as plug-ins read and write it. */
import type { ApiObject } from "./object.ts";
import type { GroupResource } from "./status-error.ts";

/** Reads the store without authorization or admission; objects are frozen and in their storage version. */
export interface StoreReader {
  get(resource: GroupResource, namespace: string, name: string): ApiObject | undefined;
  /** In key order; all namespaces when `namespace` is empty or absent. */
  list(resource: GroupResource, namespace?: string): readonly ApiObject[];
  /**
   * Calls `listener` after each commit to the resource, in revision order, `previous` absent on create
   * and `object` absent on delete. For caches that are derived from stored objects (roles, policies).
   */
  subscribe(resource: GroupResource, listener: StoreListener): () => void;
  /** Revision of the last commit. */
  readonly revision: number;
}

export type StoreListener = (change: { object?: ApiObject; previous?: ApiObject }) => void;

/** Writes past admission with optimistic retries, for what the server itself keeps (quota status, leases). */
export interface StoreWriter extends StoreReader {
  /** Creates; throws AlreadyExists. Fills in uid, creationTimestamp and defaults. */
  create(resource: GroupResource, object: ApiObject): Promise<ApiObject>;
  /** Applies `change` to a thawed copy until it commits; returning `undefined` leaves the object alone. */
  update(
    resource: GroupResource,
    namespace: string,
    name: string,
    change: (draft: ApiObject) => ApiObject | undefined,
  ): Promise<ApiObject | undefined>;
}
