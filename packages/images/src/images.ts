/** Every image this machine has or can get, by the names people use. */
import type { Environment } from "@keelson/machine";
import { ImageError } from "./errors.ts";
import type { ResolvedImage } from "./image.ts";
import { ImageStore } from "./image-store.ts";
import { MadeImages, recipeFor } from "./made-images.ts";
import { formatImageReference, type ImageReference, parseImageReference } from "./reference.ts";
import { pullImage } from "./registry.ts";
import type { RegistryCredential } from "./registry-session.ts";

/** Where images are kept, and who is told of downloads. */
export interface ImagesOptions {
  readonly env?: Environment;
  readonly onProgress?: (sentence: string) => void;
}

/** In this order: loaded or pulled before, made by this machine, pulled from the registry. */
export class Images {
  readonly store: ImageStore;
  readonly #made: MadeImages;
  readonly #options: ImagesOptions;

  constructor(options: ImagesOptions = {}) {
    this.#options = options;
    this.store = new ImageStore(options);
    this.#made = new MadeImages(options);
  }

  /** What is here already; throws `InvalidReference` only. */
  async find(image: string): Promise<ResolvedImage | undefined> {
    const reference = parseImageReference(image);
    const stored = await this.store.find(reference);
    if (stored !== undefined) return stored;
    const recipe = recipeFor(reference);
    return recipe === undefined ? undefined : await this.#made.find(recipe, reference);
  }

  /** All that are here. */
  async list(): Promise<{ names: readonly string[]; sizeBytes: number }[]> {
    const [made, stored] = await Promise.all([this.#made.all(), this.store.list()]);
    return [
      ...stored.map(({ name, sizeBytes }) => ({ names: [name], sizeBytes })),
      ...made.map(({ names, sizeBytes }) => ({ names, sizeBytes })),
    ];
  }

  /** Gets the image from wherever it can be had; the error says everything that was tried. */
  async pull(image: string, credentials: readonly RegistryCredential[] = []): Promise<ResolvedImage> {
    const reference = parseImageReference(image);
    const recipe = recipeFor(reference);
    let unmade = "";
    if (recipe !== undefined) {
      try {
        return await this.#made.resolve(recipe, reference);
      } catch (error) {
        if (!(error instanceof ImageError) || error.code !== "ImageNotFound") throw error;
        unmade = error.message;
      }
    }
    return await this.#pull(reference, credentials, unmade);
  }

  async #pull(
    reference: ImageReference,
    credentials: readonly RegistryCredential[],
    unmade: string,
  ): Promise<ResolvedImage> {
    try {
      await pullImage(reference, { store: this.store, credentials, onProgress: this.#options.onProgress });
    } catch (error) {
      const name = formatImageReference(reference);
      const reason = error instanceof Error ? error.message : String(error);
      const before =
        unmade === "" ? `${name} is not in the image store; load it with "keelson image load FILE"` : unmade;
      throw new ImageError("ImageNotFound", `${before} (${reason})`, { cause: error });
    }
    const found = await this.store.find(reference);
    if (found === undefined)
      throw new ImageError("ImageNotFound", `${formatImageReference(reference)} vanished from the store`);
    return found;
  }
}
