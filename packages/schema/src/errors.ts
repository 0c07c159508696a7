/** Every error of the schema package, by code. */

export type SchemaErrorCode =
  | "NotStructural"
  | "Cycle"
  | "BadPattern"
  | "BadDefault"
  | "BadNames"
  | "BadPath"
  | "BadRule"
  | "BadVersions"
  | "UnknownVersion"
  | "BadConversion"
  | "BadReview"
  | "NoSample"
  | "Invalid";

/** A schema or an object that cannot be what it claims; `path` says where. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly code: SchemaErrorCode;
  readonly path: string;

  constructor(code: SchemaErrorCode, path: string, message: string, options?: ErrorOptions) {
    super(path ? `${path}: ${message}` : message, options);
    this.code = code;
    this.path = path;
  }
}
