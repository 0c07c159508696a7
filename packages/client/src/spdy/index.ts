/** SPDY/3.1 framing for both ends of Kubernetes' streaming. */
export { SpdyConnection, type SpdyOptions, type SpdyStream } from "./connection.ts";
export type { SpdyHeaders } from "./header-block.ts";
