/**
 * Kubernetes' protobuf for built-in kinds.
 *
 *     isProtobuf(body)            the body begins with the envelope's magic bytes
 *     decode(body)                → { apiVersion, kind, object }: the JSON that Go would write for it
 *     encode(object)              → the enveloped bytes; canEncode(apiVersion, kind) says whether there is a form
 *     encodeWatchFrame(type, …)   → one frame of a watch stream, around an object that is encoded already
 */
export { type Decoded, type DecodeOptions, decode, isProtobuf } from "./decode.ts";
export { canEncode, encode, encodeWatchFrame } from "./encode.ts";
export { ProtobufError, type ProtobufErrorCode } from "./errors.ts";
