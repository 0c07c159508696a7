/** Operations on one key, for tests of histories. */
import type { Operation } from "./operation.ts";

export function write(value: number, startMs: number, endMs?: number, revision?: number): Operation {
  return {
    key: "k",
    type: "write",
    value,
    startMs,
    endMs,
    revision: revision === undefined ? undefined : BigInt(revision),
  };
}

export function read(value: number, startMs: number, endMs: number, revision?: number): Operation {
  return {
    key: "k",
    type: "read",
    value,
    startMs,
    endMs,
    revision: revision === undefined ? undefined : BigInt(revision),
  };
}
