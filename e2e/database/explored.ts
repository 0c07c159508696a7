/** The Database operator as `npm run explore -- --operator database --real` plays it: on real PostgreSQL servers. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Database, DatabaseBackup } from "@keelson/database-operator";
import { atFraction, type Primary } from "@keelson/testing";
import { PersistentVolumeClaim } from "keelson/kinds";
import { makeAgain } from "../../operators/database/test/explore/edits.ts";
import {
  change,
  feasible,
  followAdvice,
  missingInStatus,
  specOf,
  statusOf,
} from "../../operators/database/test/explore/scene.ts";
import { subject } from "../../operators/database/test/explore/subject.ts";
import { generalMechanisms } from "../explore/general-mechanisms.ts";
import { makeGrowingClass } from "../explore/growing-class.ts";
import type { Mechanisms } from "../explore/mechanism.ts";
import type { RealScene } from "../explore/real-scene.ts";
import type { RealSubject } from "../explore/real-subject.ts";
import { eventually } from "../operator/eventually.ts";
import { DatabaseLoad } from "./load.ts";
import { World } from "./world.ts";

const versions = { old: "15", next: "17" };
const stored = { store: { claim: { name: "backups" } } };

const specs: Readonly<Record<string, object>> = {
  "three instances": { instances: 3 },
  "three instances with backups": { instances: 3, backup: stored, onDelete: "Snapshot" },
  "three instances, each must acknowledge": { instances: 3, durability: "all" },
  "three instances, none must acknowledge": { instances: 3, durability: "async" },
  "five instances": { instances: 5 },
  "two instances": { instances: 2 },
  "one instance": { instances: 1 },
};

function worldOf(scene: RealScene): World {
  return scene.cluster as World;
}

function instanceOf(scene: RealScene, fraction: unknown): string | undefined {
  const name = atFraction(scene.pods, fraction)?.metadata.name;
  if (name !== undefined) scene.note(`it is ${name}`);
  return name;
}

/** Nobody can say any more whose data it is. */
async function corrupt(volume: string): Promise<void> {
  await using file = await open(join(volume, "pgdata", "global", "pg_control"), "r+");
  await file.write(Buffer.alloc(8_192), 0, 8_192, 0);
  await file.sync();
}

const mechanisms: Mechanisms = {
  ...generalMechanisms({ corrupt }),
  "agents: the API server is gone": {
    can: ({ how }) => how === "dropped",
    begin: async ({ cluster }) => {
      cluster.stopApiServer();
      return () => cluster.continueApiServer();
    },
  },
  "agents: nobody reaches one": {
    begin: async (scene, { which }) => {
      const name = instanceOf(scene, which);
      if (name === undefined) return undefined;
      const pod = scene.pod(name);
      await scene.inject({ kind: "cut", pod, direction: "in" });
      return async () => void (await scene.inject({ kind: "mend", pod }));
    },
  },
  "PostgreSQL crashes, and its agent lives on": {
    begin: async (scene, { which }) => {
      const name = instanceOf(scene, which);
      if (name !== undefined) await worldOf(scene).crashPostgres(name, scene.namespace);
      return undefined;
    },
  },
  // There is no image of it: a pod that cannot start, as one whose PostgreSQL does not.
  "edit: a version that does not start": {
    begin: async (scene) => {
      const before = specOf(scene.primary)?.version;
      await change(scene, { version: "15.99" });
      return async () => await change(scene, { version: before });
    },
  },
  // It has to be taken back before the scenario is over.
  "edit: changed and taken back": {
    begin: async (scene, { instances, afterMs }) => {
      const before = specOf(scene.primary)?.instances;
      await change(scene, { instances });
      await sleep(Number(afterMs));
      await change(scene, { instances: before });
      return undefined;
    },
  },
  "edit: a newer major version": {
    begin: async (scene) => {
      await change(scene, { version: versions.next });
      return undefined;
    },
  },
};

export const real: RealSubject = {
  subject,
  beginnings: Object.keys(specs),
  mechanisms,
  start: async (say) => {
    const world = await World.start("embedded", say, { nodes: 4 });
    await makeGrowingClass(world.client);
    return world;
  },
  begin: async (scene, beginning) => {
    const { ref } = scene.subject;
    await scene.client.kind(PersistentVolumeClaim).create({
      metadata: { ...ref, name: "backups" },
      spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "2Gi" } } },
    });
    const spec = {
      version: versions.old,
      storage: { size: "1Gi", className: "growing" },
      ...specs[beginning],
    };
    if ("durability" in spec && spec.durability === "async") scene.notes.set("mayHaveLost", true);
    await scene.client.kind(Database).create({ metadata: ref, spec: spec as never });
    await eventually("the beginning is reached", 180_000, async () => {
      await scene.look();
      return missingInStatus(scene) === undefined;
    });
  },
  load: (scene) => new DatabaseLoad(worldOf(scene), scene.subject.ref),
  makeFeasible: async (scene) => {
    await makeAgain(scene);
    await change(scene, feasible(scene.primary, versions));
  },
  missing: async (scene) => {
    const told = missingInStatus(scene);
    if (told !== undefined || !scene.primary) return told;
    const { name } = scene.subject.ref;
    const { instances = 0, durability, backup } = specOf(scene.primary) ?? {};
    if (worldOf(scene).instances(name, scene.namespace).length !== instances)
      return "pods are made or removed";
    const claims = scene.owned("persistentvolumeclaims").map(({ metadata }) => metadata.name);
    if (claims.filter((claim) => new RegExp(`^${name}-[0-9]+$`).test(claim)).length > instances)
      return "the claim of an instance is removed";
    const isAlone = instances === 1 || durability === "async";
    if (!isAlone && scene.condition("Protected")?.status !== "True") return "commits are not protected yet";
    // What was asked for waits until a person gives the Database a store again.
    if (!backup) return undefined;
    const { items } = await scene.client.kind(DatabaseBackup).list({ namespace: scene.namespace });
    const waiting = items.find(({ status }) => !/^(Done|Failed)$/.test(status?.phase ?? ""));
    return waiting && `DatabaseBackup ${waiting.metadata.name} is not done`;
  },
  followAdvice,
  // All scenarios share the operator, the API server and the nodes.
  isAlone: ({ steps }) => steps.some((step) => /^(operator|API|node|agents: the API server)\b/.test(step.do)),
  outcome,
};

/** Who is primary depends on when each fault came; how many there are, and of which version, does not. */
function outcome(primary: Primary): ReturnType<RealSubject["outcome"]> {
  const { instances = 0, durability = "", version = "" } = specOf(primary) ?? {};
  const { readyInstances = 0, members = [], upgrade } = statusOf(primary);
  return {
    spec: { instances, durability, major: version.slice(0, 2) },
    readyInstances,
    roles: members.map(({ role }) => String(role)).sort(),
    upgrade: upgrade?.phase ?? null,
  };
}
