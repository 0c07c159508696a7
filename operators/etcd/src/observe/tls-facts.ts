/** What is known of the certificates of a cluster. */
import type { TlsMaterial } from "../engine/etcd.ts";

/** What the rest of the operator needs to know of one use of TLS. */
export interface TlsFacts {
  /** The Secret that the user gives to all members; each has its own without it. */
  readonly secret?: string;
  /** Names whom members must trust: it is part of what their pods are made from. */
  readonly trust: string;
  /** Where the authority stands. */
  readonly phase: "Current" | "Widening" | "Overlapping" | "Given";
  /** When the first of its certificates ends. */
  readonly expiresMs: number;
}

export interface Certificates {
  readonly peer?: TlsFacts;
  readonly client?: TlsFacts;
  /** With what the operator speaks to members. */
  readonly material?: TlsMaterial;
  /** What keeps the operator from having certificates, as a sentence. */
  readonly problem?: string;
}
