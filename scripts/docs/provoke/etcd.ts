/** Provokes every error of the etcd operator: by etcd's own sentences, and by an address where nobody listens. */
import { type EtcdErrorCode, refusal } from "../../../operators/etcd/src/engine/errors.ts";
import { EtcdGateway } from "../../../operators/etcd/src/engine/gateway.ts";
import type { Provocations } from "../provoked.ts";

export const etcd: Provocations<EtcdErrorCode> = {
  Unreachable: () => new EtcdGateway({ host: "127.0.0.1", port: 1 }).status(),
  NoLeader: () => refusal("Range", "etcdserver: no leader"),
  MemberNotFound: () => refusal("MemberRemove", "etcdserver: member not found"),
  UnhealthyCluster: () => refusal("MemberAdd", "etcdserver: unhealthy cluster"),
  LearnerNotReady: () =>
    refusal("MemberPromote", "etcdserver: can only promote a learner member which is in sync with leader"),
  TooManyLearners: () => refusal("MemberAdd", "etcdserver: too many learner members in cluster"),
  NotLeader: () => refusal("MoveLeader", "etcdserver: not leader"),
  NotSupportedForLearner: () => refusal("Range", "etcdserver: rpc not supported for learner"),
  NoSpace: () => refusal("Put", "etcdserver: mvcc: database space exceeded"),
  Corrupt: () => refusal("Put", "etcdserver: corrupt cluster"),
  Compacted: () => refusal("HashKV", "etcdserver: mvcc: required revision has been compacted"),
  PeerUrlExists: () => refusal("MemberAdd", "etcdserver: Peer URLs already exists"),
  Unauthenticated: () => refusal("Range", "etcdserver: permission denied"),
  Refused: () => refusal("Put", "etcdserver: key is not provided"),
};
