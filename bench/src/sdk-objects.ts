/** The custom resources of the SDK's bench: 1.5 KB of JSON each, in the order in which an API server writes them. */
import { createHash } from "node:crypto";

export const group = "bench.keelson.dev";
export const resource = "items";
export const kind = "Item";
/** The annotation that tells when a change was sent, in ns of the machine's clock. */
export const sentAt = "bench.keelson.dev/sent-at";

const teams = 12;
export const namespaces = Array.from({ length: teams }, (_, index) => `team-${index}`);

export function nameOf(index: number): { readonly namespace: string; readonly name: string } {
  return { namespace: `team-${index % teams}`, name: `item-${String(index).padStart(6, "0")}` };
}

/**
 * Object `index` at a version. About as diverse as real ones: names, UIDs, times, hashes and messages differ, keys and
 * enumerations repeat. `sentAtNs` travels in an annotation, for measuring how long an event took.
 */
export function itemJson(index: number, resourceVersion: number, sentAtNs?: bigint): string {
  const hash = createHash("sha256").update(`item ${index}`).digest("hex");
  const created = at(index);
  const touched = at(index + 3_600);
  const uid = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  const ready = index % 7 !== 0;
  return JSON.stringify({
    apiVersion: `${group}/v1`,
    kind,
    metadata: {
      annotations: {
        "bench.keelson.dev/checksum": hash.slice(0, 40),
        ...(sentAtNs === undefined ? {} : { [sentAt]: String(sentAtNs) }),
      },
      creationTimestamp: created,
      generation: 1 + (index % 5),
      labels: { "app.kubernetes.io/name": `app-${index % 50}`, team: `team-${index % 12}`, tier: "backend" },
      managedFields: [
        {
          apiVersion: `${group}/v1`,
          fieldsType: "FieldsV1",
          fieldsV1: {
            "f:metadata": {
              "f:annotations": { "f:bench.keelson.dev/checksum": {} },
              "f:labels": { "f:app.kubernetes.io/name": {}, "f:team": {}, "f:tier": {} },
            },
            "f:spec": {
              "f:image": {},
              "f:replicas": {},
              "f:resources": {},
              "f:schedule": {},
              "f:storage": {},
            },
          },
          manager: "keelson-items",
          operation: "Apply",
          time: created,
        },
        {
          apiVersion: `${group}/v1`,
          fieldsType: "FieldsV1",
          fieldsV1: { "f:status": { "f:conditions": {}, "f:endpoint": {}, "f:observedGeneration": {} } },
          manager: "item-controller",
          operation: "Update",
          subresource: "status",
          time: touched,
        },
      ],
      ...nameOf(index),
      resourceVersion: String(resourceVersion),
      uid,
    },
    spec: {
      image: `registry.example.com/apps/app-${index % 50}@sha256:${hash}`,
      replicas: 1 + (index % 5),
      resources: { limits: { cpu: "500m", memory: "512Mi" }, requests: { cpu: "100m", memory: "128Mi" } },
      schedule: `${index % 60} ${index % 24} * * *`,
      storage: { className: "fast", size: `${1 + (index % 20)}Gi` },
    },
    status: {
      conditions: [
        {
          lastTransitionTime: touched,
          message: ready ? "all replicas are ready" : `waiting for replica ${index % 5} of item ${index}`,
          observedGeneration: 1 + (index % 5),
          reason: ready ? "Ready" : "Scaling",
          status: ready ? "True" : "False",
          type: "Ready",
        },
      ],
      endpoint: `item-${index}.team-${index % 12}.svc`,
      observedGeneration: 1 + (index % 5),
    },
  });
}

function at(seconds: number): string {
  return `${new Date(1_767_225_600_000 + seconds * 1_000).toISOString().slice(0, 19)}Z`;
}
