/** What the store asks of a durable log. */
import type { ApiObject } from "../hooks.ts";
import type { StoreEvent, Table } from "./table.ts";

export interface Journal {
  /** What the log held when it was opened; called once. */
  load(): { revision: number; tables: [string, [string, ApiObject][]][] };
  /** Queues one commit; `durable` runs when it, and all before it, are on disk. */
  append(table: Table, event: StoreEvent, durable: () => void): void;
  /** Throws when nothing can be made durable any more. */
  assertWritable(): void;
  /** Tells the journal where to read the whole state, when it replaces its log. */
  attach(tables: () => Iterable<Table>): void;
  /** Resolves when all that was appended so far is on disk; `undefined` when it is already. */
  settled(): Promise<void> | undefined;
  close(): Promise<void>;
}
