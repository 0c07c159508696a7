/** The passwords by which the operator reaches the servers. */

export interface Access {
  /** The password of the operator's own user. */
  readonly operator: string;
  /** With which replicas log in to their primary. */
  readonly replica: string;
  /** Of the user default. */
  readonly application: string;
  readonly aclLines: readonly string[];
  /** What is wrong with the Secret that the user gives. */
  readonly problem: string | undefined;
  /** When the next old password ends. */
  readonly endsInMs: number | undefined;
}
