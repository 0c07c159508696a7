/** Everything that a decision about a Database rests on, read once in a pass. */
import type { InstanceReport } from "../agent/handlers.ts";
import type { DatabaseObject } from "../api/database.ts";
import type { LeaseRecord } from "../ha/state.ts";

export interface InstanceView {
  readonly name: string;
  readonly pod?: {
    readonly uid: string;
    readonly ready: boolean;
    readonly deleting: boolean;
    readonly template: string;
    /** What its PostgreSQL is started from. */
    readonly image: string;
    readonly labels: Readonly<{ [name: string]: string }>;
    /** What keeps it from starting, in words. */
    readonly obstacle?: string;
    readonly nodeName?: string;
  };
  readonly claim?: {
    readonly uid: string;
    readonly deleting: boolean;
    readonly volume?: string;
    readonly bytes?: number;
  };
  /** What its agent says; undefined when it does not answer. */
  readonly report?: InstanceReport;
}

export interface Observed {
  readonly object: DatabaseObject;
  readonly record: LeaseRecord | undefined;
  readonly instances: readonly InstanceView[];
}
