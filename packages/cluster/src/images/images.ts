/** Every image this machine has or can get, by the names people use. */
import type { Environment } from "./cache-directory.ts";
import { ImageError } from "./errors.ts";
import type { ResolvedImage } from "./image.ts";
import { MadeImages, recipeFor } from "./made-images.ts";
import { formatImageReference, parseImageReference } from "./reference.ts";

export interface ImagesOptions {
  readonly env?: Environment;
  readonly onProgress?: (sentence: string) => void;
}

export interface RegistryCredential {
  readonly registry: string;
  readonly username: string;
  readonly password: string;
}

export class Images {
  readonly #made: MadeImages;

  constructor(options: ImagesOptions = {}) {
    this.#made = new MadeImages(options);
  }

  /** What is here already; throws `InvalidReference` only. */
  async find(image: string): Promise<ResolvedImage | undefined> {
    const reference = parseImageReference(image);
    const recipe = recipeFor(reference);
    return recipe === undefined ? undefined : await this.#made.find(recipe, reference);
  }

  /** All that are here. */
  async list(): Promise<ResolvedImage[]> {
    return await this.#made.all();
  }

  /** Gets the image from wherever it can be had. */
  async pull(image: string, _credentials: readonly RegistryCredential[] = []): Promise<ResolvedImage> {
    const reference = parseImageReference(image);
    const recipe = recipeFor(reference);
    if (recipe !== undefined) return await this.#made.resolve(recipe, reference);
    throw new ImageError(
      "ImageNotFound",
      `${formatImageReference(reference)} is not in the image store; load it with "keelson image load FILE"`,
    );
  }
}
