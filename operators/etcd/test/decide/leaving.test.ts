import { leaving as leave, staying } from "../../src/decide/leaving.ts";
import {
  cluster,
  down,
  learner,
  leaving,
  nodeLost,
  noPod,
  noVolume,
  record,
  removedFromEtcd,
  says,
  silent,
  stopping,
  type Trait,
  three,
  volumeDeleting,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const last = (...traits: Trait[]) => cluster([voter(0), voter(1), leaving(2, ...traits)]);
const outside = (...traits: Trait[]) => last(removedFromEtcd, ...traits);
const leads = says({ leader: voter(1).entry?.id });
const first = cluster([leaving(0), voter(1), voter(2)]);

decisions("a member that leaves", leave, [
  ["no member leaves", three(), undefined],
  ["there is no quorum", cluster([voter(0), voter(1), leaving(2)], { quorum: false }), undefined],
  [
    "it is a follower",
    last(),
    "removeMember Shrinking: example-2 leaves etcd: it is lost",
    { member: "example-2", id: "162", via: "example-0" },
  ],
  ["it is down", last(down), "removeMember Shrinking: example-2 leaves etcd: it is lost"],
  [
    "it is the leader",
    first,
    "moveLeader Shrinking: leadership passes from example-0 to example-1",
    { from: "example-0", to: "example-1", toId: "161" },
  ],
  [
    "the others say that it leads, and it does not answer: another one is elected first",
    cluster([leaving(0, down), voter(1), voter(2)]),
    "wait Shrinking: example-0 stays until another member leads: it does not answer the operator",
  ],
  [
    "it does not answer, and another one leads",
    cluster([leaving(0, down), voter(1, leads), voter(2, leads)]),
    "removeMember Shrinking: example-0 leaves etcd: it is lost",
    { via: "example-1" },
  ],
  ["the others would have no majority", cluster([voter(0), voter(1, down), leaving(2)]), undefined],
  [
    "the others would have no majority, but another one can leave",
    cluster([voter(0), leaving(1), leaving(2, down)]),
    "removeMember Shrinking: example-2 leaves etcd: it is lost",
  ],
  ["it is the only one", cluster([leaving(0)]), undefined],
  [
    "it is a learner, whatever the others do",
    cluster([voter(0), voter(1, down), learner(2, record({ phase: "Leaving", message: "it is old" }))]),
    "removeMember Shrinking: example-2 leaves etcd: it is old",
  ],
  [
    "it is a learner, and no member can be asked",
    cluster([voter(0, down), learner(1, down, record({ phase: "Leaving" }))]),
    undefined,
  ],
  [
    "it has left etcd",
    outside(silent),
    "deletePods Shrinking: example-2 has left etcd; its pod ends",
    { members: ["example-2"] },
  ],
  ["its pod is being deleted", outside(stopping), "wait Shrinking: example-2 is stopping"],
  [
    "its pod is being deleted on a lost node",
    outside(stopping, nodeLost(5)),
    "deletePods Shrinking: example-2 has left etcd; its pod ends",
    { now: true },
  ],
  [
    "its pod is gone",
    outside(noPod),
    "deleteClaim Shrinking: example-2 has left; its volume is deleted",
    { member: "example-2" },
  ],
  ["its volume is being deleted", outside(noPod, volumeDeleting), "record Shrinking: example-2 has left"],
  [
    "its volume is gone",
    outside(noPod, noVolume),
    "record Shrinking: example-2 has left",
    { status: { members: [{ name: "example-0" }, { name: "example-1" }] } },
  ],
]);

decisions("a member that cannot leave now", staying, [
  ["no member leaves", three(), undefined],
  ["there is no quorum", cluster([voter(0), voter(1), leaving(2)], { quorum: false }), undefined],
  [
    "the others would have no majority",
    cluster([voter(0), voter(1, down), leaving(2)]),
    "wait Shrinking: example-2 stays for now: without it the others would have no majority",
  ],
]);

decisions("a member that leaves, by whom it is told", leave, [
  [
    "one that never joined leaves no volume behind",
    outside(noPod, record({ id: undefined as never })),
    "deleteClaim Shrinking: example-2 has left; its volume is deleted",
    { member: "example-2" },
  ],
  [
    "without a quorum nobody knows whether etcd still counts it: nothing of it is deleted",
    cluster([voter(0), leaving(1, removedFromEtcd)], { quorum: false }),
    undefined,
  ],
  [
    "by the leader, also when others come before it",
    cluster([voter(0, leads), voter(1, leads), leaving(2, leads)]),
    "removeMember Shrinking: example-2 leaves etcd: it is lost",
    { via: "example-1" },
  ],
]);
