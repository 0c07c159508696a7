/** The plain JSON shape that every Kubernetes object shares. */

/** RFC 3339 in UTC with second precision, as the API server writes it: `2026-01-31T12:00:00Z`. */
export type Time = string;
/** RFC 3339 in UTC with exactly six fractional digits: `2026-01-31T12:00:00.000000Z`. */
export type MicroTime = string;

/** An owner of an object. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Who owns which fields, as `metadata.managedFields`. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: "Apply" | "Update";
  apiVersion?: string;
  time?: Time;
  fieldsType?: string;
  fieldsV1?: JsonObject;
  subresource?: string;
}

/** The metadata of an object as a client writes it. */
export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: Time | null;
  deletionTimestamp?: Time;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
  selfLink?: string;
}

/** An object as a person or a program may write it: the server fills in the rest. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** Metadata of an object that the server has stored. */
export interface StoredMeta extends ObjectMeta {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: Time;
}

/** An object as the server returned it: identity is certain. */
export type Stored<T extends KubeObject = KubeObject> = Omit<T, "apiVersion" | "kind" | "metadata"> & {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: StoredMeta;
};

export type JsonPrimitive = string | number | boolean | null;
/** Any value of JSON; integers beyond 2^53 are a `RawNumber`. */
export type JsonValue = JsonPrimitive | JsonValue[] | JsonObject;
/** An object of JSON. */
export type JsonObject = { [key: string]: JsonValue };

/** A condition of a status, as `metav1.Condition`. */
export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  observedGeneration?: number;
  lastTransitionTime: Time;
  reason: string;
  message: string;
}

/** Namespace and name; `namespace` is absent for cluster-scoped objects. */
export interface ObjectRef {
  readonly namespace?: string;
  readonly name: string;
}

/** `namespace/name`, or `name` for cluster-scoped objects. Neither part can contain a slash. */
export function keyOf(ref: ObjectRef): string {
  return ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name;
}

/** Namespace and name of a key `namespace/name`. */
export function parseKey(key: string): ObjectRef {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The key of a stored object. */
export function objectKey(object: { metadata?: { namespace?: string; name?: string } }): string {
  return keyOf({ namespace: object.metadata?.namespace, name: object.metadata?.name ?? "" });
}
