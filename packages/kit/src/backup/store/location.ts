/** Where backups lie, as the user writes it and as a pod mounts it. */
import type { InputOf } from "@keelson/core";
import type { Pod } from "@keelson/core/kinds";
import { cel } from "@keelson/schema";
import { z } from "zod";
import type { StoreLocation } from "./open-store.ts";

/** The field of a spec that says where backups lie: a claim or a bucket. */
export const backupStoreSchema = z
  .object({
    claim: z
      .object({ name: z.string(), path: z.string().default("") })
      .optional()
      .describe("A PersistentVolumeClaim."),
    s3: z
      .object({
        endpoint: z.string().describe("URL of the S3-compatible service."),
        region: z.string().default("us-east-1"),
        bucket: z.string().min(1),
        prefix: z.string().default(""),
        credentialsSecret: z.string().describe("A Secret with accessKeyId and secretAccessKey."),
      })
      .optional(),
  })
  .check(cel("has(self.claim) != has(self.s3)", "give exactly one of claim and s3"));

/** What {@link backupStoreSchema} reads. */
export type BackupStore = z.output<typeof backupStoreSchema>;

type PodSpec = NonNullable<InputOf<typeof Pod>["spec"]>;
type Volume = NonNullable<PodSpec["volumes"]>[number];
type VolumeMount = NonNullable<PodSpec["containers"][number]["volumeMounts"]>[number];

/** A volume of a pod, and where a container mounts it. */
export interface MountedVolume {
  readonly volume: Volume;
  readonly mount: VolumeMount;
}

const credentialsPath = "/var/run/keelson/store";
const claimPath = "/var/run/keelson/volume";

/**
 * What a pod needs to reach a store. The operator never reads the credentials: the kubelet mounts the Secret.
 *
 * @example
 * const { location, volumes } = mountStore(backup.spec.store);
 */
export function mountStore(store: BackupStore): {
  readonly location: StoreLocation;
  readonly volumes: readonly MountedVolume[];
} {
  if (store.s3) {
    const { credentialsSecret, endpoint, region, bucket, prefix } = store.s3;
    return {
      location: { s3: { endpoint, region, bucket, prefix, credentials: credentialsPath } },
      volumes: [mountSecret("store", credentialsSecret, credentialsPath)],
    };
  }
  const { name = "", path = "" } = store.claim ?? {};
  const directory = [claimPath, ...path.split("/").filter((part) => part !== "")].join("/");
  return {
    location: { directory },
    volumes: [
      {
        volume: { name: "store", persistentVolumeClaim: { claimName: name } },
        mount: { name: "store", mountPath: claimPath },
      },
    ],
  };
}

/** A Secret as a read-only volume, for the pod's user and group only. */
export function mountSecret(name: string, secretName: string, mountPath: string): MountedVolume {
  return {
    volume: { name, secret: { secretName, defaultMode: 0o440 } },
    mount: { name, mountPath, readOnly: true },
  };
}
