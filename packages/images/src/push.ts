/** Pushes an image of the store to a registry that speaks the distribution protocol. */
import { openAsBlob } from "node:fs";
import type { ImageStore } from "./image-store.ts";
import { mediaType } from "./oci.ts";
import { formatImageReference, type ImageReference } from "./reference.ts";
import { RegistrySession, type SessionOptions } from "./registry-session.ts";

/** How an image is pushed to a registry. */
export interface PushOptions extends SessionOptions {
  readonly store: ImageStore;
  /** Of its manifest, which is in the store. */
  readonly digest: string;
  readonly onProgress?: (sentence: string) => void;
}

/** Uploads what the registry lacks, and then the manifest under the reference's tag. Pushing twice changes nothing. */
export async function pushImage(reference: ImageReference, options: PushOptions): Promise<void> {
  const { digest, onProgress, store } = options;
  // Uploads take as long as they take.
  const session = new RegistrySession(reference, { timeoutMs: 300_000, ...options });
  const { config, layers } = await store.manifest(digest);
  const name = formatImageReference(reference);
  for (const { digest: blob, size } of [config, ...layers]) {
    if (await session.hasBlob(blob)) continue;
    onProgress?.(`pushing ${name} (${((size ?? 0) / 1e6).toFixed(1)} MB)`);
    await session.putBlob(blob, await openAsBlob(store.blobPath(blob)));
  }
  // Byte by byte as it is here: its digest is the image's identity.
  await session.putManifest(reference.tag, mediaType.manifest, await openAsBlob(store.blobPath(digest)));
}
