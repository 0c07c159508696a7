/** A store as a process in a pod sees it, and opens it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BackupError } from "../../errors.ts";
import { DirectoryStore } from "./directory-store.ts";
import { S3Store } from "./s3-store.ts";
import type { Store } from "./store.ts";

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
