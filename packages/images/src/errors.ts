/** Everything that can go wrong while an image or a program is made available. */

export type ImageErrorCode =
  /** The text is not an image reference. */
  | "InvalidReference"
  /** Nothing on this machine or in a reachable registry answers to the reference. */
  | "ImageNotFound"
  /** A program is neither on the PATH nor obtainable. */
  | "ProgramNotFound"
  /** The package manager could not provide a package. */
  | "PackageUnavailable"
  /** An archive or layout is damaged or of an unknown format. */
  | "BadArchive"
  /** A registry could not be reached or answered with an error. */
  | "RegistryFailed";

/** The message is a sentence for a person: what was asked for, what was met, what to do. */
export class ImageError extends Error {
  readonly code: ImageErrorCode;

  constructor(code: ImageErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ImageError";
    this.code = code;
  }
}
