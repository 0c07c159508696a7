/** A file whose content may be replaced at any time: a service account token, a certificate. */
import { readFile } from "node:fs/promises";
import type { Clock } from "@keelson/core";
import { ClientError } from "../errors.ts";

/** Half of the kubelet's shortest time between two rotations, less some leeway. */
const freshForMs = 50_000;

/** Reads the file again when the last reading is older than 50 s; while it cannot be read, the old content stands. */
export class RotatingFile {
  readonly #path: string;
  readonly #what: string;
  readonly #clock: Clock;
  #content: string | undefined;
  #readAt = 0;

  /** `what` names the file's role in messages; `content` is what was read of it just now, if anything was. */
  constructor(path: string, what: string, clock: Clock, content?: string) {
    this.#path = path;
    this.#what = what;
    this.#clock = clock;
    this.#content = content;
    this.#readAt = clock.monotonic();
  }

  /** The content, where it need not be read again. */
  get fresh(): string | undefined {
    return this.#clock.monotonic() - this.#readAt < freshForMs ? this.#content : undefined;
  }

  async read(): Promise<string> {
    const { fresh } = this;
    if (fresh !== undefined) return fresh;
    try {
      const content = await readFile(this.#path, "utf8");
      if (content.trim() === "") throw new Error("it is empty");
      this.#content = content;
      this.#readAt = this.#clock.monotonic();
    } catch (cause) {
      if (this.#content === undefined) {
        const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
        const why = missing ? "it does not exist" : (cause as Error).message;
        throw new ClientError(
          "CredentialUnreadable",
          `the ${this.#what} ${this.#path} cannot be read: ${why}`,
          { cause },
        );
      }
    }
    return this.#content;
  }

  /** The next reading looks at the file. */
  expire(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }
}
