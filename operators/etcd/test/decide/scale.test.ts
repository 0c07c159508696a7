import { missingMember, scale } from "../../src/decide/scale.ts";
import {
  cluster,
  cordoned,
  down,
  leaderless,
  learner,
  nodeLost,
  type Special,
  says,
  template,
  templateFor,
  three,
  unready,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const size = (count: number, special: Special = {}): Special => ({ ...special, spec: { size: count } });
/** The key of the authority for peers is lost, and these have a certificate by it. */
const lost = (...holders: string[]): Special => ({
  certificates: { peer: { trust: "old,next", phase: "Widening", expiresMs: 0, holders } },
});
const leaves = (member: string) => `record Shrinking: ${member} will leave: the cluster shrinks to 2`;

decisions("scale", scale, [
  ["the size is right", three(), undefined],
  ["there is no quorum", three(size(5, { quorum: false })), undefined],
  [
    "members are missing",
    three(size(5)),
    "record Growing: example-3 will join: 3 of 5 members",
    {
      status: {
        members: [{}, {}, {}, { name: "example-3", phase: "Joining", template: template.hash }],
        nextMember: 4,
      },
    },
  ],
  [
    "numbers were used before",
    three(size(5, { status: { nextMember: 7 } })),
    "record Growing: example-7 will join: 3 of 5 members",
    { status: { nextMember: 8 } },
  ],
  [
    "the status has neither number nor template",
    cluster([], size(1, { status: { nextMember: undefined, template: undefined } })),
    "record Growing: example-0 will join: 0 of 1 members",
    { status: { members: [{ name: "example-0", phase: "Joining" }] } },
  ],
  [
    "the authority for peers was deleted: the certificate of one that has left serves another",
    three(size(4, lost("example-0", "example-1", "example-2", "example-7"))),
    "record Growing: example-7 will join: 3 of 4 members",
    { status: { nextMember: 3 } },
  ],
  [
    "the authority for peers was deleted, and there is no certificate for another",
    three(size(4, lost("example-0", "example-1", "example-2"))),
    "wait Growing: the key of the authority for peers was deleted; another member joins when example-0, example-1, example-2 trust the next authority",
  ],
  [
    "the authority for peers was deleted, and a recovery has set aside the volume of the only one that has left",
    three(size(4, { ...lost("example-7"), spareClaims: ["example-7"] })),
    "wait Growing: the key of the authority for peers was deleted; another member joins when example-0, example-1, example-2 trust the next authority",
  ],
  ["one is too many: the newest leaves", three(size(2)), leaves("example-2")],
  [
    "one is too many: a learner leaves first",
    cluster([voter(0), learner(1), voter(2)], size(2)),
    leaves("example-1"),
  ],
  [
    "one is too many: one that does not serve leaves first",
    cluster([voter(0), voter(1, down), voter(2)], size(2)),
    leaves("example-1"),
  ],
  [
    "one is too many: one on a cordoned node leaves first",
    cluster([voter(0), voter(1, cordoned), voter(2)], size(2)),
    leaves("example-1"),
  ],
  [
    "one is too many: the leader stays, though it is the newest",
    cluster([voter(1), voter(2), voter(0)], size(2)),
    leaves("example-2"),
  ],
  [
    "one is too many, and none can leave",
    cluster([voter(0), voter(1, leaderless), voter(2, leaderless)], size(2)),
    "wait Shrinking: no member can leave without costing the others their majority",
  ],
]);

const rollout = templateFor({ settings: { snapshotCount: 5 } });

decisions("a rollout that meets a missing member", missingMember, [
  ["none is missing", three({ status: { rollout } }), undefined],
  ["there is no quorum", three(size(5, { status: { rollout }, quorum: false })), undefined],
  ["no rollout is under way", three(size(5)), undefined],
  [
    "no rollout is under way, and the kubelet of a voter is silent",
    cluster([voter(0), voter(1, unready, nodeLost(60))]),
    "record Growing: example-2 will join: 2 of 3 members",
  ],
  [
    "it joins with what is rolled out",
    three(size(4, { status: { rollout } })),
    "record Growing: example-3 will join: 3 of 4 members",
    { status: { members: [{}, {}, {}, { name: "example-3", template: rollout.hash }] } },
  ],
  [
    "only the rollout gives the members an authority that it can join with",
    three(size(4, { ...lost("example-0", "example-1", "example-2"), status: { rollout } })),
    undefined,
  ],
  [
    "it joins with what was there before, where the rollout is rolled back",
    three(size(4, { status: { rollout: { ...rollout, rollback: "it failed" } } })),
    "record Growing: example-3 will join: 3 of 4 members",
    { status: { members: [{}, {}, {}, { name: "example-3", template: template.hash }] } },
  ],
]);

const second = says({ leader: String(0xa2) });

decisions("the leader of a cluster that shrinks", scale, [
  [
    "stays, though it is the newest",
    cluster([voter(0, second), voter(1, second), voter(2, second)], size(2)),
    leaves("example-1"),
  ],
  [
    "stays, though its node is about to be drained",
    cluster([voter(0, second), voter(1, second), voter(2, second, cordoned)], size(2)),
    leaves("example-1"),
  ],
]);
