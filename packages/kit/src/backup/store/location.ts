/** Where backups lie, in three forms: as the user writes it, as a pod mounts it, and as an open store. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { InputOf } from "@keelson/core";
import type { Pod } from "@keelson/core/kinds";
import { cel } from "@keelson/schema";
import { z } from "zod";
import { BackupError } from "../../errors.ts";
import { DirectoryStore } from "./directory-store.ts";
import { S3Store } from "./s3-store.ts";
import type { Store } from "./store.ts";

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

/** A store as a process in a pod sees it. It is plain JSON, so that a task can carry it. */
export type StoreLocation =
  | {
      readonly s3: {
        readonly endpoint: string;
        readonly region: string;
        readonly bucket: string;
        readonly prefix: string;
        /** The directory where the Secret with the credentials is mounted. */
        readonly credentials: string;
      };
    }
  | { readonly directory: string };

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

/** Opens a store in the pod that mounts it. Rejects with `BadConfiguration` when the credentials are incomplete. */
export async function openStore(location: StoreLocation): Promise<Store> {
  if ("directory" in location) return new DirectoryStore(location.directory);
  const { credentials: directory, ...bucket } = location.s3;
  const [accessKeyId, secretAccessKey] = [
    await mountedKey(directory, "accessKeyId"),
    await mountedKey(directory, "secretAccessKey"),
  ];
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new BackupError("BadConfiguration", "the credentials lack accessKeyId or secretAccessKey");
  }
  const sessionToken = await mountedKey(directory, "sessionToken");
  const ca = await mountedKey(directory, "ca.crt");
  return new S3Store({
    ...bucket,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    ...(ca === undefined ? {} : { ca }),
  });
}

/** One key of a mounted Secret, without the line break that editors add; undefined when the Secret lacks it. */
export async function mountedKey(directory: string, key: string): Promise<string | undefined> {
  return await readFile(join(directory, key), "utf8").then(
    (text) => (key.endsWith(".crt") || key.endsWith(".key") ? text : text.trim()),
    () => undefined,
  );
}
