/** What is said and done of an EtcdCluster through the API server alone: in a simulation and with real processes alike. */
import type { Primary, Scene } from "@keelson/testing";
import { PersistentVolumeClaim, Pod } from "keelson/kinds";
import { EtcdBackup } from "../../src/api/backup.ts";
import { EtcdCluster, type EtcdClusterObject } from "../../src/api/cluster.ts";
import { reasons } from "../../src/api/conditions.ts";

export const version = "3.6.16";

/** What a spec must say to be one that can be reached. */
export function feasible(primary: Primary): object {
  const spec = primary.spec as unknown as EtcdClusterObject["spec"];
  const runs = (primary.status as EtcdClusterObject["status"])?.template?.recipe.version;
  return {
    paused: false,
    hibernate: false,
    ...(/^3\.[5-7]\.(?!99)/.test(spec.version) ? {} : { version: runs ?? version }),
    resources: null,
    storage: { className: spec.storage.className ?? null },
  };
}

/** Someone is making the object again that is being deleted. */
const remaking = "remaking";

/** Of an orphan: neither a claim that stays nor a pod that runs on one that goes. */
async function noCopyIsLeft({ client, subject: { ref } }: Scene): Promise<boolean> {
  const { namespace } = ref;
  const [claims, pods] = await Promise.all([
    client.kind(PersistentVolumeClaim).list({ namespace }),
    client.kind(Pod).list({ namespace }),
  ]);
  const own = new RegExp(`^${ref.name}-\\d+$`);
  return ![...claims.items, ...pods.items].some(
    ({ metadata }) => own.test(metadata.name) && metadata.deletionTimestamp === undefined,
  );
}

/**
 * Makes the object again as soon as it is gone; what is to be corrected in its spec is corrected then. What is lost
 * while nobody looks after an orphan is no loss of the operator's.
 */
export async function makeAgain(scene: Scene, spec: object, propagation?: string): Promise<void> {
  scene.notes.set(remaking, true);
  const again = async () => {
    if (scene.primary) return void scene.clock.timer(1_000, () => void again());
    if (propagation === "Orphan" && (await noCopyIsLeft(scene))) scene.notes.set("mayHaveLost", true);
    await scene.client.kind(EtcdCluster).create({ metadata: scene.subject.ref, spec: spec as never });
    const correct = scene.notes.get(remaking);
    scene.notes.delete(remaking);
    if (typeof correct === "function") await correct();
  };
  await again();
}

/** Calls it with the object that stays: now, or when it has been made again; never when it is deleted for good. */
export async function whenItStays(scene: Scene, correct: (primary: Primary) => Promise<void>): Promise<void> {
  const { primary } = scene;
  if (scene.notes.has(remaking)) scene.notes.set(remaking, async () => await whenItStays(scene, correct));
  else if (primary && primary.metadata.deletionTimestamp === undefined) await correct(primary);
}

/** What is missing for the spec to be reached, as far as Kubernetes knows. */
export function missingInStatus(scene: Scene): string | undefined {
  const { primary } = scene;
  if (scene.notes.has(remaking)) return "it is being made again";
  if (!primary) {
    const own = new RegExp(`^${scene.subject.ref.name}-\\d+$`);
    const pods = scene.pods.filter(({ metadata }) => own.test(metadata.name));
    return pods.length > 0 ? `pods are left: ${pods.map(({ metadata }) => metadata.name)}` : undefined;
  }
  if (primary.metadata.deletionTimestamp !== undefined) return "the cluster is still being deleted";
  const spec = primary.spec as unknown as EtcdClusterObject["spec"];
  const status = primary.status as EtcdClusterObject["status"];
  if (!scene.isReady) return "it is not Ready";
  if (status?.readyMembers !== spec.size) return `${status?.readyMembers} of ${spec.size} members serve`;
  const rotating = Object.entries(status.tls ?? {}).find(([, { phase }]) => !/^(Current|Given)$/.test(phase));
  return rotating ? `the authority of ${rotating[0]} is ${rotating[1].phase}` : undefined;
}

/** The member that the status advises to remove with etcdctl, as it names it. */
export function unknownMember(scene: Scene): string | undefined {
  const told = scene.primary?.status?.conditions?.map(({ message }) => message).join(" ") ?? "";
  return /etcdctl member remove (\w+)/.exec(told)?.[1];
}

/** Does what the status tells a person to do. */
export async function followAdvice(scene: Scene): Promise<string | undefined> {
  const { primary, subject } = scene;
  const { ref } = subject;
  const ready = scene.condition("Ready");
  const kind = scene.client.kind(EtcdCluster);
  const approval = /annotate the cluster with (\S+)=(\S+)/.exec(ready?.message ?? "");
  if (approval) {
    scene.notes.set("mayHaveLost", true);
    const body = { metadata: { annotations: { [approval[1] as string]: approval[2] as string } } };
    await kind.patch(ref, { type: "merge", body });
    return `annotates the cluster with ${approval[0]}`;
  }
  const failedBackup = /final backup (\S+) failed/.exec(ready?.message ?? "");
  if (failedBackup) {
    await scene.client.kind(EtcdBackup).delete({ ...ref, name: failedBackup[1] as string });
    return `deletes EtcdBackup ${failedBackup[1]}`;
  }
  if (ready?.message.includes("remove spec.deletion.finalBackup to let")) {
    scene.notes.set("mayHaveLost", true);
    await kind.patch(ref, { type: "merge", body: { spec: { deletion: { finalBackup: null } } } as never });
    return "removes spec.deletion.finalBackup";
  }
  if (ready?.message.includes("set spec.deletion.volumes to Remove")) {
    scene.notes.set("mayHaveLost", true);
    await kind.patch(ref, { type: "merge", body: { spec: { deletion: { volumes: "Remove" } } } as never });
    return "sets spec.deletion.volumes to Remove";
  }
  if (ready?.reason === reasons.versionRefused) {
    const { version: runs } = (primary?.status ?? {}) as { version?: string };
    await kind.patch(ref, { type: "merge", body: { spec: { version: runs } } as never });
    return `sets spec.version back to ${runs}`;
  }
  if (ready?.message.includes("take spec.storage.size back")) {
    const claims = scene.owned("persistentvolumeclaims") as unknown as {
      metadata: { name: string };
      spec: { resources: { requests: { storage: string } } };
    }[];
    const [size = "1Gi"] = claims.map(({ spec }) => spec.resources.requests.storage).sort();
    await kind.patch(ref, { type: "merge", body: { spec: { storage: { size } } } as never });
    return `takes spec.storage.size back to ${size}`;
  }
  if (ready?.message.includes("take an EtcdBackup and make the cluster again")) {
    const backup = { ...ref, name: `rescue-${primary?.metadata.uid?.slice(0, 8)}` };
    const spec = { cluster: ref.name, store: { claim: { name: "vault" } }, verify: true };
    await scene.client.kind(EtcdBackup).create({ metadata: backup, spec } as never);
    await waitFor(
      scene,
      async () => (await scene.client.kind(EtcdBackup).get(backup)).status?.phase === "Done",
    );
    await replaceBy(scene, { ...primary?.spec, restoreFrom: { backup: backup.name } });
    return "takes a backup and restores it into a new cluster";
  }
  if (ready?.reason === reasons.allDataLost) {
    // Without a backup it begins empty.
    await replaceBy(scene, { ...primary?.spec });
    return "makes a new cluster";
  }
  return undefined;
}

/** Makes a new cluster of the same name. */
async function replaceBy(scene: Scene, spec: object): Promise<void> {
  const { ref } = scene.subject;
  const kind = scene.client.kind(EtcdCluster);
  scene.notes.set("mayHaveLost", true);
  const deletion = { volumes: "Remove", finalBackup: null };
  await kind.patch(ref, { type: "merge", body: { spec: { deletion } } as never });
  await kind.delete(ref);
  await waitFor(scene, () => !scene.primary);
  await kind.create({ metadata: ref, spec: spec as never });
}

async function waitFor(scene: Scene, isDone: () => boolean | Promise<boolean>): Promise<void> {
  for (let seconds = 0; seconds < 120 && !(await isDone()); seconds += 5) await scene.advance(5_000);
}
