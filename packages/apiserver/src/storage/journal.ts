/** What the store asks of a durable log. */
import type { ApiObject } from "../contracts/object.ts";
import type { StoreEvent, Table } from "./table.ts";

export interface Journal {
  /** What the log held when it was opened; called once. */
  load(): { revision: number; tables: [string, [string, ApiObject][]][] };
  /** Queues one commit. */
  append(commit: Commit): void;
  /** Throws when nothing can be made durable any more. */
  assertWritable(): void;
  /** What keeps commits from being kept now, if anything does. */
  problem(): Promise<Error | undefined>;
  /** Tells the journal where to read the whole state, when it replaces its log. */
  attach(tables: () => Iterable<Table>): void;
  /**
   * Resolves when all that was appended so far is on disk, `undefined` when it is already. Rejects with the refusal
   * of what could not be kept.
   */
  settled(): Promise<void> | undefined;
  close(): Promise<void>;
}

export interface Commit {
  readonly table: Table;
  readonly event: StoreEvent;
  /** Runs when this commit, and all before it, are on disk. */
  readonly durable: () => void;
  /** Runs instead, the latest commit first, when it could not be kept: nobody has been told of it. */
  readonly lost: () => void;
}
