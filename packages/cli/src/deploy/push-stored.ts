/** Pushes an image of this machine's store. */
import { Images, parseImageReference, pushImage } from "@keelson/images";
import { storedDigest } from "../build/tag-image.ts";
import { registryCredentials } from "./credentials.ts";

/** Returns the digest under which others find it. */
export async function pushStored(image: string, onProgress: (sentence: string) => void): Promise<string> {
  const { store } = new Images();
  const digest = await storedDigest(store, image);
  const credentials = await registryCredentials();
  await pushImage(parseImageReference(image), { store, digest, credentials, onProgress });
  return digest;
}
