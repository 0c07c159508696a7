import { bootstrap } from "../../src/decide/bootstrap.ts";
import type { RestorePlan } from "../../src/observe/restore-plan.ts";
import {
  claim,
  cluster,
  type name as clusterName,
  down,
  ended,
  name,
  noPod,
  noVolume,
  obstacle,
  pod,
  removedFromEtcd,
  type Special,
  seed,
  stopping,
  type Trait,
  template,
  templateFor,
  three,
  volumeDeleting,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

/** A cluster that has not formed yet. */
const young = (traits: Trait[], special: Special = {}) =>
  cluster([seed(0, ...traits)], {
    ...special,
    quorum: false,
    status: { clusterId: undefined, ...special.status },
  });
const empty = (special: Special = {}) =>
  cluster([], {
    ...special,
    quorum: false,
    status: { clusterId: undefined, template: undefined, ...special.status },
  });
const long: typeof clusterName = { ...name, name: "a".repeat(53) };
const unbound = claim({ bound: false });
const source = { name: "default/old/nightly-1" } as Extract<RestorePlan, { state: "ready" }>["source"];

/** The first member has answered, and is alone in its list. */
function formed() {
  const first = voter(0);
  const { list } = cluster([first]);
  const member = { ...first, record: seed(0).record };
  return { ...cluster([member], { status: { clusterId: undefined } }), list };
}

decisions("bootstrap", bootstrap, [
  ["the cluster has formed", three(), undefined],
  [
    "the name is too long",
    empty({ cluster: long }),
    `refuse SpecRefused: the name ${long.name} is too long: members and services are named after it, so it may have 52 characters`,
  ],
  [
    "the name is as long as it may be",
    empty({ cluster: { ...name, name: "a".repeat(52) } }),
    `record Bootstrapping: ${"a".repeat(52)}-0 will be the first member`,
  ],
  [
    "the version is unknown",
    empty({ spec: { version: "4.0.0" } }),
    "refuse SpecRefused: etcd 4.0.0 is not supported; set spec.version to a version of 3.4, 3.5, 3.6, 3.7",
  ],
  [
    "the version loses data",
    empty({ spec: { version: "3.5.5" } }),
    "refuse SpecRefused: etcd 3.5.5 can lose or corrupt data when it crashes; set spec.version to 3.5.6 or later",
  ],
  [
    "nothing exists",
    empty(),
    "record Bootstrapping: example-0 will be the first member",
    {
      status: {
        members: [{ name: "example-0", phase: "Seed", template: template.hash }],
        nextMember: 1,
        template,
      },
    },
  ],
  [
    "numbers were used before",
    empty({ status: { nextMember: 4 } }),
    "record Bootstrapping: example-4 will be the first member",
    { status: { nextMember: 5 } },
  ],
  [
    "it has no volume",
    young([noPod, noVolume]),
    "createClaim Bootstrapping: example-0 gets its volume",
    { member: "example-0" },
  ],
  [
    "its volume is being deleted",
    young([noPod, volumeDeleting]),
    "wait Bootstrapping: the volume of example-0 is being deleted",
  ],
  [
    "it has a volume and no pod",
    young([noPod]),
    "createPods Bootstrapping: the first member example-0 starts",
    { pods: [{ member: "example-0", template, start: { mode: "seed" }, role: "learner" }] },
  ],
  [
    "the backup to restore is not done",
    young([noPod], { restore: { state: "waiting", message: "EtcdBackup nightly is not done yet" } }),
    "wait Bootstrapping: EtcdBackup nightly is not done yet",
  ],
  [
    "the backup to restore is unusable",
    young([noPod], { restore: { state: "refused", message: "EtcdBackup nightly failed: no space" } }),
    "refuse SpecRefused: EtcdBackup nightly failed: no space",
  ],
  [
    "the backup to restore is ready",
    young([noPod], { restore: { state: "ready", source } }),
    "createPods Bootstrapping: the first member example-0 starts from default/old/nightly-1",
    { pods: [{ restore: source }] },
  ],
  ["its pod starts", young([]), "wait Bootstrapping: the first member example-0 is starting"],
  [
    "its pod cannot start",
    young([obstacle("ImagePullBackOff: no such image")]),
    "wait Bootstrapping: the first member example-0 is starting: ImagePullBackOff: no such image",
  ],
  [
    "its pod has no volume of the default class",
    young([unbound, obstacle("Unschedulable: unbound claims")]),
    "wait Bootstrapping: the first member example-0 is starting: no volume of the default storage class is there for it yet (Unschedulable: unbound claims)",
  ],
  [
    "its pod is being deleted",
    young([stopping]),
    "wait Bootstrapping: the first member example-0 is stopping",
  ],
  [
    "its pod has ended",
    young([ended]),
    "deletePods Bootstrapping: example-0 is recreated from the spec",
    { members: ["example-0"] },
  ],
  [
    "its pod is of another template",
    young([pod({ template: "old" })]),
    "deletePods Bootstrapping: example-0 is recreated from the spec",
  ],
  [
    "the spec has changed before it formed the cluster",
    young([], { spec: { version: "3.5.35" } }),
    "record Bootstrapping: example-0 will be made from a new template",
    { status: { template: templateFor({ version: "3.5.35" }) } },
  ],
  [
    "the spec asks for another storage class before the volume exists",
    young([unbound], { spec: { storage: { size: "1Gi", className: "fast" } } }),
    "deletePods Bootstrapping: example-0 is recreated from the spec",
  ],
  [
    "the spec asks for another storage class, and the pod is gone",
    young([unbound, noPod], { spec: { storage: { size: "1Gi", className: "fast" } } }),
    "deleteClaim Bootstrapping: example-0 needs another storage class",
    { member: "example-0" },
  ],
  [
    "the volume of the other class is being deleted",
    young([unbound, noPod, volumeDeleting], { spec: { storage: { size: "1Gi", className: "fast" } } }),
    "wait Bootstrapping: the volume of example-0 is being deleted",
  ],
  [
    "it has formed the cluster",
    formed(),
    "record Bootstrapping: example-0 has formed the cluster",
    {
      status: { clusterId: "c1", members: [{ name: "example-0", id: "a0", phase: "Voter" }] },
      event: "cluster c1 was formed by example-0",
    },
  ],
  [
    "it answers, but there is no quorum",
    { ...formed(), list: undefined },
    "wait Bootstrapping: the first member example-0 is starting",
  ],
  [
    "the list that it answers with is of several members",
    { ...formed(), list: three().list },
    "wait Bootstrapping: the first member example-0 is starting",
  ],
  [
    "it does not answer",
    young([down, removedFromEtcd]),
    "wait Bootstrapping: the first member example-0 is starting",
  ],
]);

const lone = voter(0).entry as NonNullable<ReturnType<typeof voter>["entry"]>;

decisions("the answer of the first member", bootstrap, [
  [
    "nobody counted members before",
    cluster([], { status: { clusterId: undefined, nextMember: undefined as never } }),
    "record Bootstrapping: example-0 will be the first member",
    { status: { members: [{ name: "example-0" }], nextMember: 1 } },
  ],
  [
    "it does not answer, though a list does",
    { ...young([down]), list: { clusterId: "193", members: [lone] } },
    "wait Bootstrapping: the first member example-0 is starting",
  ],
  [
    "the list has one member, and it is another one",
    { ...formed(), list: { clusterId: "193", members: [{ ...lone, id: "9" }] } },
    "wait Bootstrapping: the first member example-0 is starting",
  ],
  [
    "the list is of another cluster",
    { ...formed(), list: { clusterId: "9", members: [lone] } },
    "wait Bootstrapping: the first member example-0 is starting",
  ],
]);
