/** What tests of a database operator need: stores without a network, and clients that prove that no write was lost. */

export { checkHistory, type HistoryOptions, type HistoryReport, type Recovery } from "../ledger/history.ts";
export { type Acknowledgement, Ledger, type LedgerSummary, type Reading } from "../ledger/ledger.ts";
export { isLinearizable } from "../ledger/linearizable.ts";
export { Load, type LoadOptions } from "../ledger/load.ts";
export type { Operation } from "../ledger/operation.ts";
export { MemoryStore } from "./memory-store.ts";
export { type S3Server, s3Server } from "./s3-server.ts";
