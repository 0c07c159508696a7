import { lostMember, unhealthyVoters } from "../../src/decide/heal.ts";
import {
  claim,
  cluster,
  crashed,
  down,
  joining,
  leaderless,
  leaving,
  nodeLost,
  noPod,
  obstacle,
  pod,
  readyFor,
  type Special,
  silent,
  stopping,
  type Trait,
  three,
  unready,
  volumeDeleting,
  volumeGone,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const third = (...traits: Trait[]) => cluster([voter(0), voter(1), voter(2, ...traits)]);
const lost = (why: string) => `record Healing: example-2 will leave: ${why}`;
const left = { status: { members: [{}, {}, { name: "example-2", phase: "Leaving" }] } };
const emptyVolume = "could not retrieve cluster information from the given URLs";
const corrupt = "panic: failed to open database";

decisions("a member whose data or node is lost", lostMember, [
  ["every member is well", three(), undefined],
  ["a member is down", third(down), undefined],
  ["there is no quorum", cluster([voter(0), voter(1), voter(2, volumeGone)], { quorum: false }), undefined],
  ["its volume is gone", third(volumeGone), lost("its volume is gone"), left],
  [
    "its volume is another one",
    third(claim({ uid: "other" }), down),
    lost("its volume was replaced by another"),
    left,
  ],
  ["its volume is lost", third(claim({ lost: true }), down), lost("its volume is lost"), left],
  ["its volume is being deleted", third(volumeDeleting), lost("its volume is being deleted"), left],
  ["it finds its volume empty", third(crashed(emptyVolume)), lost("its volume is empty"), left],
  ["it finds its data corrupt", third(crashed(corrupt)), lost("its data is corrupt"), left],
  ["it crashed, and serves again", third(pod({ terminationMessage: corrupt })), undefined],
  ["it crashed, and answers again", third(pod({ terminationMessage: corrupt }), unready), undefined],
  ["it crashed, and its pod is ready again", third(pod({ terminationMessage: corrupt }), silent), undefined],
  ["it crashed for another reason", third(crashed("listen tcp: address already in use")), undefined],
  [
    "it crashes with a template that was never rolled out",
    third(crashed(corrupt), pod({ template: "new" })),
    undefined,
  ],
  ["it has no data yet", cluster([voter(0), voter(1), joining(2, volumeGone)]), undefined],
  ["it already leaves", cluster([voter(0), voter(1), leaving(2, volumeGone)]), undefined],
  ["its node is lost for a short time", third(down, nodeLost(299)), undefined],
  [
    "its node is lost for long",
    third(down, nodeLost(300)),
    lost("its node node-2 has been gone for 300 s"),
    left,
  ],
  ["its node is lost for long, but it answers", third(unready, nodeLost(900)), undefined],
  ["its node is lost for long, but its pod is ready", third(silent, nodeLost(900)), undefined],
  [
    "a second member is lost at the same time",
    cluster([voter(0), voter(1, volumeGone), voter(2, volumeGone)]),
    "wait MembersUnhealthy: example-1 cannot be replaced now: its volume is gone, and without it the others would have no majority",
  ],
  [
    "the only member is lost",
    cluster([voter(0, volumeGone)], { spec: { size: 1 } }),
    "wait MembersUnhealthy: example-0 cannot be replaced now: its volume is gone, and without it the others would have no majority",
  ],
]);

const smaller: Special = { spec: { size: 2 } };

decisions("voters that do not serve", unhealthyVoters, [
  ["every voter serves", three(), undefined],
  ["a member that does not vote does not serve", cluster([voter(0), joining(1)]), undefined],
  ["it has no pod", third(noPod), "wait Healing: example-2 has no pod"],
  ["its pod is being deleted", third(stopping), "wait Healing: example-2 is stopping"],
  [
    "its pod cannot start",
    third(down, obstacle("CrashLoopBackOff")),
    "wait Healing: example-2 CrashLoopBackOff",
  ],
  ["it does not answer", third(silent, unready), "wait Healing: example-2 does not answer"],
  ["it knows no leader", third(leaderless), "wait Healing: example-2 knows no leader"],
  [
    "it serves for etcd, and its pod is not ready",
    third(unready, readyFor(1)),
    "wait Settling: example-2 is not ready",
  ],
  [
    "several do not serve",
    cluster([voter(0), voter(1, unready), voter(2, noPod)]),
    "wait Healing: example-1 is not ready; example-2 has no pod",
  ],
  [
    "one too many does not serve",
    cluster([voter(0), voter(1), voter(2, down)], smaller),
    "record Shrinking: example-2 will leave: the cluster shrinks to 2",
    left,
  ],
  [
    "one too many does not serve, and there is no quorum",
    cluster([voter(0), voter(1), voter(2, down)], { ...smaller, quorum: false }),
    "wait Healing: example-2 does not answer",
  ],
]);
