/** Pods, nodes and volumes. */
import type { Random } from "@keelson/core";
import { PersistentVolumeClaim, Pod } from "@keelson/core/kinds";
import { unlessGone } from "../../simulation/host.ts";
import { anywhere, type Disturbance } from "../disturbance.ts";
import { atFraction, pick, randomFraction } from "../plan.ts";
import { destroyed, type Scene } from "../scene.ts";
import type { World } from "../world.ts";

const chooseOne = (random: Random) => ({ which: randomFraction(random) });

function podName(scene: Scene, fraction: unknown): string | undefined {
  const name = atFraction(scene.pods, fraction)?.metadata.name;
  if (name !== undefined) scene.note(`it is ${name}`);
  return name;
}

const deletePod = anywhere({
  name: "pod: deleted",
  weight: 3,
  choose: (random) => ({ ...chooseOne(random), force: random.next() < 0.2 }),
  begin: async (scene, { which, force }) => {
    const name = podName(scene, which);
    if (name === undefined) return;
    const options = force ? { gracePeriodSeconds: 0 } : {};
    await unlessGone(
      scene.client.kind(Pod).delete({ namespace: scene.subject.ref.namespace, name }, options),
    );
  },
});

const deleteAllPods = anywhere({
  name: "pod: all deleted",
  weight: 0.5,
  begin: async (scene) => {
    for (const { metadata } of scene.pods)
      await unlessGone(
        scene.client.kind(Pod).delete({ namespace: scene.subject.ref.namespace, name: metadata.name }),
      );
  },
});

const killProcess: Disturbance = {
  name: "pod: process killed",
  weight: 2,
  choose: chooseOne,
  begin: (world, { which }) => {
    const name = podName(world, which);
    if (name !== undefined) world.simulation.kubelet.crash(name);
  },
};

const freezeProcess: Disturbance = {
  name: "pod: process hangs",
  lastsMs: 60_000,
  choose: chooseOne,
  begin: (world, { which }) => {
    const name = podName(world, which);
    const process = name === undefined ? undefined : world.simulation.kubelet.process(name);
    process?.freeze?.(true);
    return () => process?.freeze?.(false);
  },
};

function nodeName(world: World, fraction: unknown): string | undefined {
  const name = atFraction([...world.simulation.nodes.all.keys()], fraction);
  if (name !== undefined) world.note(`it is ${name}`);
  return name;
}

const loseNode: Disturbance = {
  name: "node: loses power",
  lastsMs: 600_000,
  choose: chooseOne,
  begin: async (world, { which }) => {
    const name = nodeName(world, which);
    if (name === undefined) return;
    await world.simulation.nodes.lose(name);
    return () => world.simulation.nodes.restore(name);
  },
};

const silenceNode: Disturbance = {
  name: "node: kubelet cut off",
  lastsMs: 400_000,
  choose: chooseOne,
  begin: async (world, { which }) => {
    const name = nodeName(world, which);
    if (name === undefined) return;
    await world.simulation.nodes.silence(name);
    return () => world.simulation.nodes.restore(name);
  },
};

/** What runs there runs on; its statuses are told again, and readiness is found again. */
const restartKubelet: Disturbance = {
  name: "node: kubelet restarts",
  lastsMs: 20_000,
  choose: chooseOne,
  begin: async (world, { which }) => {
    const name = nodeName(world, which);
    if (name === undefined) return;
    const { nodes, kubelet } = world.simulation;
    await nodes.silence(name);
    return async () => {
      kubelet.forget(name);
      await nodes.restore(name);
    };
  },
};

const cordon: Disturbance = {
  name: "node: cordoned",
  lastsMs: 300_000,
  choose: chooseOne,
  begin: async (world, { which }) => {
    const name = nodeName(world, which);
    if (name === undefined) return;
    await world.simulation.nodes.cordon(name, true);
    return () => world.simulation.nodes.cordon(name, false);
  },
};

const claimsPending: Disturbance = {
  name: "volume: claims stay Pending",
  lastsMs: 400_000,
  begin: (world) => world.simulation.volumes.stick(""),
};

/** A volume of the application, by the claim of a pod. */
function volumeOf(world: World, fraction: unknown) {
  const pod = atFraction(
    world.pods.filter(({ spec }) => spec?.volumes?.some((each) => each.persistentVolumeClaim)),
    fraction,
  );
  const claim = pod?.spec?.volumes?.find((each) => each.persistentVolumeClaim)?.persistentVolumeClaim
    ?.claimName;
  if (!pod || claim === undefined) return undefined;
  const volume = world.simulation.volumes.of(world.subject.ref.namespace, claim);
  if (volume) world.note(`it is the volume of ${pod.metadata.name}`);
  return volume && { pod: pod.metadata.name, claim, volume };
}

const volumeFull: Disturbance = {
  name: "volume: full",
  lastsMs: 120_000,
  choose: chooseOne,
  begin: (world, { which }) => {
    const found = volumeOf(world, which);
    if (!found) return;
    found.volume.full = true;
    world.simulation.kubelet.crash(found.pod);
    return () => {
      found.volume.full = false;
    };
  },
};

/** Data is destroyed. How much of that an application survives is for its own oracles to say. */
const volumeDestroyed: Disturbance = {
  name: "volume: destroyed",
  choose: (random) => ({ ...chooseOne(random), how: pick(["wiped", "corrupt", "claim deleted"], random) }),
  begin: async (world, { which, how }) => {
    const found = volumeOf(world, which);
    if (!found) return;
    const { namespace } = world.subject.ref;
    world.notes.set(destroyed, true);
    if (how === "claim deleted") {
      await unlessGone(world.client.kind(PersistentVolumeClaim).delete({ namespace, name: found.claim }));
      await unlessGone(world.client.kind(Pod).delete({ namespace, name: found.pod }));
      return;
    }
    if (how === "corrupt") found.volume.corrupt = true;
    else delete found.volume.data;
    world.simulation.kubelet.crash(found.pod);
  },
};

export const podDisturbances: readonly Disturbance[] = [
  deletePod,
  deleteAllPods,
  killProcess,
  freezeProcess,
  loseNode,
  silenceNode,
  restartKubelet,
  cordon,
  claimsPending,
  volumeFull,
  volumeDestroyed,
];
