/** The one error that the protobuf codec throws. */

export type ProtobufErrorCode =
  /** The bytes do not begin with `k8s\0`. */
  | "NotEnveloped"
  /** The envelope or a message in it breaks the wire format. */
  | "Malformed"
  /** No built-in kind has that apiVersion and kind; the message names both. */
  | "UnknownKind"
  /** The message is nested too deeply or has too many parts. */
  | "TooLarge"
  /** A JSON value does not fit the field it is to be encoded in. */
  | "Unfit";

export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
  readonly code: ProtobufErrorCode;

  constructor(code: ProtobufErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
