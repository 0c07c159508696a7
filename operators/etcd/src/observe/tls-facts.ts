/** What is known of the certificates of a cluster. */
import type { TlsMaterial } from "../engine/etcd.ts";

/** What the rest of the operator needs to know about one use of TLS. */
export interface TlsFacts {
  /** The Secret that the user provides for all members. Default: each member has its own. */
  readonly secret?: string;
  /** Digest of the trusted authorities: it is part of the pod template. */
  readonly trust: string;
  /** The phase of the authority. */
  readonly phase: "Current" | "Widening" | "Overlapping" | "Given";
  /** When the first of its certificates expires. */
  readonly expiresMs: number;
  /**
   * While the key of the authority is lost: who has a certificate by it, members that have left among them. Nobody else
   * can get one that those who run trust.
   */
  readonly holders?: readonly string[];
}

export interface Certificates {
  readonly peer?: TlsFacts;
  readonly client?: TlsFacts;
  /** What the operator connects to members with. */
  readonly material?: TlsMaterial;
  /** Why there are no certificates, as a sentence. */
  readonly problem?: string;
}
