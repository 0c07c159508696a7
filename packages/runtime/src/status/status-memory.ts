/** What was last said and written of the status of each object, from run to run. Losing it costs a read, never correctness. */
import { type JsonObject, objectKey, type Stored } from "@keelson/core";
import type { InventoryEntry, StepRecord } from "@keelson/schema";
import type { Outcome } from "../controller/outcome.ts";

/** A condition without its times. */
export interface ConditionState {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** What a run says of an object: equal words on an equal object make an equal status. */
export interface Said {
  readonly outcome: Outcome["outcome"];
  readonly reason: string | undefined;
  readonly message: string | undefined;
  /** A copy, in which JSON finds nothing that it cannot carry. */
  readonly author: JsonObject | undefined;
  readonly conditions: readonly ConditionState[];
  readonly inventory: readonly InventoryEntry[] | undefined;
  readonly steps: readonly StepRecord[];
  /** Of the object that was reconciled. */
  readonly generation: number | undefined;
}

interface Remembered {
  readonly uid: string;
  readonly status: JsonObject;
  /** What was said when the status was found to be there, and the version at which it was. */
  readonly found: { readonly version: string; readonly said: Said } | undefined;
  /** What others apply beside it, as a merge patch that would remove it. */
  readonly beside: JsonObject | undefined;
}

export class StatusMemory {
  readonly #memories = new Map<string, Remembered>();

  get(object: Stored): Remembered | undefined {
    const memory = this.#memories.get(objectKey(object));
    return memory?.uid === object.metadata.uid ? memory : undefined;
  }

  set(object: Stored, status: JsonObject, { found, beside }: Partial<Remembered> = {}): void {
    this.#memories.set(objectKey(object), { uid: object.metadata.uid, status, found, beside });
  }

  forget(key: string): void {
    this.#memories.delete(key);
  }
}
