/**
 * Kubernetes' protobuf for built-in kinds.
 *
 *     isProtobuf(body)            the body begins with the envelope's magic bytes
 *     decode(body)                → { apiVersion, kind, object }: the JSON that Go would write for it
 */
export { type Decoded, type DecodeOptions, decode, isProtobuf } from "./decode.ts";
export { ProtobufError, type ProtobufErrorCode } from "./errors.ts";
