/** Faults that only etcd has. */
import { anywhere, atFraction, type Disturbance, randomFraction } from "@keelson/testing";
import { PersistentVolumeClaim, Pod } from "keelson/kinds";
import type { SimEtcd } from "../simulation/etcd.ts";

type Fault = Disturbance<SimEtcd>;

/** Someone with etcdctl adds a voter that never starts. */
const voterAdded: Fault = {
  name: "etcd: a voter is added by hand",
  weight: 0.5,
  lastsMs: 180_000,
  begin: (world) => {
    const { application } = world;
    if (application.groups.size === 0) return;
    const { group } = application;
    const id = application.drawId();
    const added = group.propose({
      type: "add",
      member: { id, peerUrl: "http://10.9.9.9:2380", learner: false },
    });
    if (!added) return;
    application.stir();
    return () => {
      group.propose({ type: "remove", id });
      application.stir();
    };
  },
};

const memberRemoved: Fault = {
  name: "etcd: a member is removed by hand",
  weight: 0.5,
  choose: (random) => ({ which: randomFraction(random) }),
  begin: (world, { which }) => {
    const { application } = world;
    if (application.groups.size === 0) return;
    const { group } = application;
    const victim = atFraction([...group.voters()], which);
    if (!victim || group.voters().length < 3) return;
    world.note(`it is ${victim.name}`);
    group.propose({ type: "remove", id: victim.id });
    application.stir();
  },
};

const leaderMoved: Fault = {
  name: "etcd: the leader changes",
  choose: (random) => ({ which: randomFraction(random) }),
  begin: (world, { which }) => {
    const { application } = world;
    if (application.groups.size === 0) return;
    const target = atFraction([...application.group.voters()], which);
    if (target) application.group.transfer(target.id);
    application.stir();
  },
};

/** History fills the quota, where there is one: by writes that etcd takes, so at a later revision than before. */
const noSpace: Fault = {
  name: "etcd: out of space",
  begin: (world) => {
    const { application } = world;
    if (application.groups.size === 0) return;
    const quota = Math.max(...[...application.processes].map(({ request }) => request.quotaBytes));
    const { group } = application;
    if (quota > 0 && application.write(group, "overwritten", "often")) group.history = quota;
  },
};

/**
 * They go when their pods do, and not before: as long as a member serves, another can copy its data. The claim of a pod that
 * is stopping is left alone: nobody can keep what is on it any more.
 */
const claimsDeleted = anywhere({
  name: "volume: claims are deleted while their pods run",
  choose: (random) => ({ which: randomFraction(random), all: random.next() < 0.5 }),
  begin: async (scene, { which, all }) => {
    const names = scene.pods
      .filter(({ metadata, spec }) =>
        spec?.volumes?.some(({ persistentVolumeClaim: used }) => used?.claimName === metadata.name),
      )
      .map(({ metadata }) => metadata.name);
    const one = atFraction(names, which);
    // Known to the general oracles: see "volume: destroyed".
    scene.notes.set("destroyed", true);
    for (const name of all || one === undefined ? names : [one]) {
      scene.note(`it is ${name}`);
      const ref = { namespace: scene.subject.ref.namespace, name };
      const pod = await scene.client.kind(Pod).find(ref);
      if (pod?.metadata.deletionTimestamp !== undefined) continue;
      if (await scene.client.kind(PersistentVolumeClaim).find(ref))
        await scene.client.kind(PersistentVolumeClaim).delete(ref);
    }
  },
});

const storeDown: Fault = {
  name: "backup: the store does not answer",
  lastsMs: 180_000,
  begin: (world) => {
    world.application.tasks.storeDown = true;
    return () => {
      world.application.tasks.storeDown = false;
    };
  },
};

export const faults: readonly Fault[] = [
  voterAdded,
  memberRemoved,
  leaderMoved,
  noSpace,
  claimsDeleted,
  storeDown,
];
