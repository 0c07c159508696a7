/** What the server says about columns, where a client has been seen to read it. */
import { lookupTable } from "@keelson/core/internal";

const nameDescription =
  "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const ageDescription =
  "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const keys = "Each key must consist of alphanumeric characters, '-', '_' or '.'.";

const others: Readonly<Record<string, string>> = lookupTable({
  "ConfigMap Data": `Data contains the configuration data. ${keys} Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.`,
  "Secret Data": `Data contains the secret data. ${keys} The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4`,
  "Secret Type":
    "Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
});

export function columnDescription(kind: string, column: string): string {
  if (column === "Name") return nameDescription;
  if (column === "Age" || column === "Created At") return ageDescription;
  return others[`${kind} ${column}`] ?? "";
}
