/** What tests of a database operator need. */

export { MemoryStore } from "./memory-store.ts";
export { type S3Server, s3Server } from "./s3-server.ts";
