/** Pulls images from registries that speak the distribution protocol, docker's included. */
import { ImageError } from "./errors.ts";
import type { ImageStore } from "./image-store.ts";
import { choosePlatform, isIndex, readManifest } from "./oci.ts";
import { formatImageReference, type ImageReference } from "./reference.ts";
import { RegistrySession, type SessionOptions } from "./registry-session.ts";

/** How an image is pulled from a registry. */
export interface PullOptions extends SessionOptions {
  readonly store: ImageStore;
  readonly onProgress?: (sentence: string) => void;
}

/** Brings the image into the store under its name. */
export async function pullImage(reference: ImageReference, options: PullOptions): Promise<void> {
  const session = new RegistrySession(reference, options);
  const { store } = options;
  const name = formatImageReference(reference);
  let text = await session.manifest(reference.digest || reference.tag);
  let document = readManifest(text, name);
  if (isIndex(document)) {
    const own = choosePlatform(document);
    if (own === undefined) {
      throw new ImageError(
        "ImageNotFound",
        `${name} has no variant for this machine (linux/${process.arch})`,
      );
    }
    text = await session.manifest(own.digest);
    document = readManifest(text, name);
    if (isIndex(document)) throw new ImageError("BadArchive", `${own.digest} is no image but an index`);
  }
  const manifest = document;
  const missing = [manifest.config, ...manifest.layers].filter(({ digest }) => !store.hasBlob(digest));
  const bytes = missing.reduce((sum, { size }) => sum + (size ?? 0), 0);
  options.onProgress?.(`pulling ${name} (${missing.length} blobs, ${(bytes / 1e6).toFixed(1)} MB)`);
  for (const { digest, size } of missing) {
    await store.putBlob(await session.body(`blobs/${digest}`, "*/*"), digest, size);
  }
  // Byte by byte as it came: its digest is the image's identity.
  const kept = await store.putBlob(new Blob([text]).stream());
  await store.unpack(kept.digest, name);
  await store.name(reference, kept, "registry");
}
