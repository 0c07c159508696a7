/** What the explorer does to any operator's pods, nodes, volumes, lines, API server and own process, done to real ones. */
import type { JsonObject } from "@keelson/core";
import { atFraction, type End } from "@keelson/testing";
import { Node, PersistentVolumeClaim, Pod } from "keelson/kinds";
import type { Mechanism, Mechanisms } from "./mechanism.ts";
import type { RealCluster, RealScene } from "./real-scene.ts";

type Direction = "in" | "out" | "both";

function podName(scene: RealScene, fraction: unknown): string | undefined {
  const running = scene.pods.filter(
    ({ status, metadata }) => status?.podIP !== undefined && metadata.deletionTimestamp === undefined,
  );
  const name = atFraction(running, fraction)?.metadata.name;
  if (name !== undefined) scene.note(`it is ${name}`);
  return name;
}

/** Swallowed in both directions, or in one. Refusals and slow lines have no counterpart. */
const canCut = ({ how }: JsonObject) => how === "dropped" || how === "one-way";

function directionOf(how: unknown): Direction {
  return how === "one-way" ? "out" : "both";
}

const killed: Mechanism = {
  begin: async (scene, { which }) => {
    const name = podName(scene, which);
    if (name !== undefined) await scene.inject({ kind: "kill", pod: scene.pod(name) });
    return undefined;
  },
};

const hangs: Mechanism = {
  begin: async (scene, { which }) => {
    const name = podName(scene, which);
    if (name === undefined) return undefined;
    const pod = scene.pod(name);
    if (!(await scene.inject({ kind: "freeze", pod, frozen: true }))) return undefined;
    return async () => void (await scene.inject({ kind: "freeze", pod, frozen: false }));
  },
};

/** A node, but not the one that the operator itself runs on: it has disturbances of its own. */
async function nodeName(scene: RealScene, fraction: unknown): Promise<string | undefined> {
  const [operator] = await operatorPods(scene);
  const found = operator && (await scene.client.kind(Pod).find(operator));
  const nodes = (await scene.nodes()).filter((name) => name !== found?.spec?.nodeName);
  const name = atFraction(nodes, fraction);
  if (name !== undefined) scene.note(`it is ${name}`);
  return name;
}

function nodeFault(down: "nodeDown" | "nodeCut", up: "nodeUp" | "nodeMend"): Mechanism {
  return {
    begin: async (scene, { which }) => {
      const node = await nodeName(scene, which);
      if (node === undefined || !(await scene.inject({ kind: down, node }))) return undefined;
      return async () => void (await scene.inject({ kind: up, node }));
    },
  };
}

const cordoned: Mechanism = {
  begin: async (scene, { which }) => {
    const name = await nodeName(scene, which);
    if (name === undefined) return undefined;
    const set = async (unschedulable: boolean) =>
      void (await scene.client
        .kind(Node)
        .patch({ name }, { type: "merge", body: { spec: { unschedulable } } }));
    await set(true);
    return async () => await set(false);
  },
};

/** The first claim of a pod, as in the simulation: a later one may be where backups go. */
function claimOf(scene: RealScene, fraction: unknown): { pod: string; claim: string } | undefined {
  const claims = scene.pods.flatMap(({ metadata, spec }) =>
    (spec?.volumes ?? [])
      .flatMap(({ persistentVolumeClaim }) =>
        persistentVolumeClaim ? [{ pod: metadata.name, claim: persistentVolumeClaim.claimName }] : [],
      )
      .slice(0, 1),
  );
  const found = atFraction(claims, fraction);
  if (found) scene.note(`it is the volume of ${found.pod}`);
  return found;
}

/** How an application's data goes bad: given the directory of its volume. */
export type Corrupt = (path: string) => Promise<void>;

function destroyed(corrupt: Corrupt | undefined): Mechanism {
  return {
    can: ({ how }) => how !== "corrupt" || corrupt !== undefined,
    begin: async (scene, { which, how }) => {
      const found = claimOf(scene, which);
      if (!found) return undefined;
      if (how === "claim deleted") {
        await ignoringAbsence(scene.client.kind(PersistentVolumeClaim).delete(scene.pod(found.claim)));
        await ignoringAbsence(scene.client.kind(Pod).delete(scene.pod(found.pod)));
        return undefined;
      }
      const { volume, path } = await scene.volumeOf(found.claim);
      if (how === "corrupt") await corrupt?.(path);
      else await scene.inject({ kind: "loseVolume", volume });
      await scene.inject({ kind: "kill", pod: scene.pod(found.pod) });
      return undefined;
    },
  };
}

async function ignoringAbsence(deleted: Promise<unknown>): Promise<void> {
  await deleted.catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== 404) throw error;
  });
}

async function cut(
  scene: RealScene,
  name: string,
  direction: Direction,
  peers: readonly { readonly namespace: string; readonly name: string }[] = [],
): Promise<End> {
  const pod = scene.pod(name);
  if (peers.length === 0) await scene.inject({ kind: "cut", pod, direction });
  for (const peer of peers) await scene.inject({ kind: "cut", pod, direction, peer });
  return async () => void (await scene.inject({ kind: "mend", pod }));
}

const isolated: Mechanism = {
  can: canCut,
  begin: async (scene, { which }) => {
    const name = podName(scene, which);
    return name === undefined ? undefined : await cut(scene, name, "both");
  },
};

const betweenPods: Mechanism = {
  can: canCut,
  begin: async (scene, { which, other, how }) => {
    const [from, to] = [podName(scene, which), podName(scene, other)];
    if (from === undefined || to === undefined || from === to) return undefined;
    return await cut(scene, from, directionOf(how), [scene.pod(to)]);
  },
};

async function operatorPods(scene: RealScene): Promise<{ namespace: string; name: string }[]> {
  return (await scene.cluster.operator.pods()).length === 0 ? [] : [await scene.cluster.operator.pod()];
}

const operatorLine: Mechanism = {
  can: canCut,
  begin: async (scene, { which, how, all }) => {
    const chosen = podName(scene, which);
    const names = all
      ? scene.pods.map(({ metadata }) => metadata.name)
      : chosen === undefined
        ? []
        : [chosen];
    const peers = await operatorPods(scene);
    if (peers.length === 0) return undefined;
    // Seen from the pod: what the operator sends arrives, or nothing passes at all.
    const ends = await Promise.all(
      names.map(async (name) => await cut(scene, name, how === "one-way" ? "out" : "both", peers)),
    );
    return async () => {
      for (const end of ends) await end();
    };
  },
};

/** Where Kubernetes would let the container wait longer from restart to restart, its pod is replaced. */
const operatorKilled: Mechanism = {
  begin: async (scene) => {
    for (const pod of await operatorPods(scene)) {
      const found = await scene.client.kind(Pod).find(pod);
      await scene.inject({ kind: "kill", pod });
      if ((found?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0)
        await ignoringAbsence(scene.client.kind(Pod).delete(pod, { gracePeriodSeconds: 0 }));
    }
    return undefined;
  },
};

const operatorStopped: Mechanism = {
  begin: async (scene) => {
    const pods = await operatorPods(scene);
    for (const pod of pods) await scene.inject({ kind: "freeze", pod, frozen: true });
    return async () => {
      for (const pod of pods) await scene.inject({ kind: "freeze", pod, frozen: false });
    };
  },
};

/** How many outages of a cluster's API server are under way: it comes back with the end of the last. */
const outages = new WeakMap<RealCluster, number>();

const apiOutage: Mechanism = {
  begin: async ({ cluster }) => {
    const count = (change: 1 | -1) => {
      const left = (outages.get(cluster) ?? 0) + change;
      outages.set(cluster, left);
      return left;
    };
    count(1);
    cluster.stopApiServer();
    return () => {
      if (count(-1) === 0) cluster.continueApiServer();
    };
  },
};

/** Disturbances that act on the API server alone need no mechanism: they are played as they are. */
export function generalMechanisms(options: { readonly corrupt?: Corrupt } = {}): Mechanisms {
  return {
    "pod: process killed": killed,
    "pod: process hangs": hangs,
    "node: loses power": nodeFault("nodeDown", "nodeUp"),
    "node: kubelet cut off": nodeFault("nodeCut", "nodeMend"),
    "node: cordoned": cordoned,
    "volume: destroyed": destroyed(options.corrupt),
    "line: a pod from everyone": isolated,
    "line: between two pods": betweenPods,
    "line: operator to a pod": operatorLine,
    "operator: killed": operatorKilled,
    "operator: stopped for a while": operatorStopped,
    "API: outage": apiOutage,
  };
}
