/** Errors that etcd answers with. */

export type EtcdErrorCode =
  /** No answer: refused, reset, timed out. The call may have taken effect. */
  | "Unreachable"
  | "NoLeader"
  | "MemberNotFound"
  /** The strict reconfiguration check: too few members are connected. */
  | "UnhealthyCluster"
  | "LearnerNotReady"
  | "TooManyLearners"
  | "NotLeader"
  | "NotSupportedForLearner"
  | "NoSpace"
  | "Corrupt"
  | "Compacted"
  | "PeerUrlExists"
  | "Unauthenticated"
  | "Refused";

export class EtcdError extends Error {
  override readonly name = "EtcdError";
  readonly code: EtcdErrorCode;

  constructor(code: EtcdErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function isEtcdError(error: unknown, ...codes: readonly EtcdErrorCode[]): error is EtcdError {
  return error instanceof EtcdError && (codes.length === 0 || codes.includes(error.code));
}

/** etcd's own sentences, by what they mean. They have been stable from 3.4 to 3.7. */
const SENTENCES: readonly (readonly [RegExp, EtcdErrorCode])[] = [
  [/no leader/, "NoLeader"],
  [/member not found/, "MemberNotFound"],
  [/unhealthy cluster|not enough started members/, "UnhealthyCluster"],
  [/can only promote a learner member which is in sync with leader/, "LearnerNotReady"],
  [/too many learner members/, "TooManyLearners"],
  [/not leader/, "NotLeader"],
  [/rpc not supported for learner/, "NotSupportedForLearner"],
  [/database space exceeded/, "NoSpace"],
  [/corrupt cluster/, "Corrupt"],
  [/required revision has been compacted/, "Compacted"],
  [/Peer URLs already exists/, "PeerUrlExists"],
  [
    /authentication|permission denied|invalid auth token|user name is empty|revision in header is old/,
    "Unauthenticated",
  ],
  [/timed out|request timed out|deadline|server stopped|transport is closing/i, "Unreachable"],
];

/** The error that a refusal's sentence means. */
export function refusal(call: string, sentence: string): EtcdError {
  const code = SENTENCES.find(([pattern]) => pattern.test(sentence))?.[1] ?? "Refused";
  return new EtcdError(code, `etcd refused ${call}: ${sentence}`);
}
