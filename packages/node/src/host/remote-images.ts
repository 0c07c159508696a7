/** Images for the kubelet inside the namespace, where there is no network: it asks the process outside. */
import { ImageError, type ImageErrorCode, type ResolvedImage } from "@keelson/images";
import type { NodeImages, PullSecret } from "../kubelet/services.ts";
import { type Channel, RemoteError } from "./channel.ts";

export type ListedImage = { readonly names: readonly string[]; readonly sizeBytes: number };

export function remoteImages(channel: Channel): NodeImages & { list(): Promise<readonly ListedImage[]> } {
  const ask = async <T>(name: string, params?: unknown): Promise<T> => {
    try {
      return await channel.ask<T>(name, params);
    } catch (error) {
      if (error instanceof RemoteError && error.name === "ImageError") {
        throw new ImageError(error.code as ImageErrorCode, error.message, { cause: error });
      }
      throw error;
    }
  };
  return {
    find: (image) => ask<ResolvedImage | undefined>("findImage", image),
    pull: (image, secrets: readonly PullSecret[]) => ask<ResolvedImage>("pullImage", { image, secrets }),
    list: () => ask<readonly ListedImage[]>("listImages"),
  };
}
