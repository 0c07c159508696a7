/**
 * Kubernetes' protobuf for built-in kinds.
 *
 *     isProtobuf(body)            the body begins with the envelope's magic bytes
 *     decode(body)                → { apiVersion, kind, object }: the JSON that Go would write for it
 *     encode(object)              → the enveloped bytes; canEncode(apiVersion, kind) says whether there is a form
 *     encodeItem, encodeList      → objects once for all lists that hold them, and lists around them
 *     encodeWatchFrame(type, …)   → one frame of a watch stream, around an object that is encoded already
 *     encodeOpenApiV2(document)   → /openapi/v2 for clients that accept only protobuf (openApiV2MediaType)
 */
export { type DecodeOptions, decode, isProtobuf } from "./decode.ts";
export { canEncode, encode, encodeItem, encodeList, encodeWatchFrame, enveloped } from "./encode.ts";
export { ProtobufError } from "./errors.ts";
export { encodeOpenApiV2, openApiV2MediaType } from "./openapi-v2.ts";
