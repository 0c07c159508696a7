/** Conversions that a webhook makes, for merging, which cannot wait: what is missing is asked for, and merged again. */
import type { JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";

/** Thrown out of a merge that needs a conversion; the merge can be repeated when `done`. */
class ConversionPending extends Error {
  readonly done: Promise<unknown>;

  constructor(done: Promise<unknown>) {
    super("a conversion is under way");
    this.name = "ConversionPending";
    this.done = done;
  }
}

export class Conversions {
  readonly #made = new Map<string, ApiObject>();

  /** What `convert` makes of the object. Merging is repeatable, so that the same objects come again. */
  of(
    object: JsonObject,
    apiVersion: string,
    convert: () => ApiObject | Promise<ApiObject> | undefined,
  ): ApiObject | undefined {
    const key = `${apiVersion} ${JSON.stringify(object)}`;
    const known = this.#made.get(key);
    if (known) return known;
    const made = convert();
    if (!(made instanceof Promise)) return made;
    throw new ConversionPending(made.then((result) => this.#made.set(key, result)));
  }

  /** Runs the merge as often as it takes. Rejects with what a conversion failed with. */
  async settle<T>(merge: () => T): Promise<T> {
    for (;;) {
      try {
        return merge();
      } catch (error) {
        if (!(error instanceof ConversionPending)) throw error;
        await error.done;
      }
    }
  }
}
