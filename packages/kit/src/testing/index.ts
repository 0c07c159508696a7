/** What tests of a database operator need. */

export { check, type Loss, type Operation, type Verdict } from "../ledger/history.ts";
export { MemoryStore } from "./memory-store.ts";
export { type S3Server, s3Server } from "./s3-server.ts";
