/** The SampleDB operator as the explorer plays it. */
import type { Subject } from "@keelson/testing";
import { parseJson } from "keelson";
import { SampleDB } from "../../src/api/sampledb.ts";
import { sampleDBBackup } from "../../src/backup/backup.ts";
import { sampleDB } from "../../src/reconcile.ts";
import type { PasswordHistory } from "../../src/resources/password-history.ts";
import { SimRedis } from "./application.ts";
import { simulatedDial } from "./client.ts";
import {
  acknowledgedIn,
  allowLoss,
  annotate,
  backupsIn,
  change,
  databaseIn,
  dumpNamed,
  isBeingDeleted,
  type RedisWorld,
  ref,
  secretText,
  serving,
} from "./database.ts";
import { edits, faults, feasible, giveCredentials, givenCredentials } from "./edits.ts";
import { giveCertificate, givenSecret } from "./given-certificate.ts";
import { oracles } from "./oracles.ts";
import { startWorkloads } from "./workloads.ts";

export const subject: Subject<SimRedis> = {
  name: "sampledb",
  kind: SampleDB,
  resource: "sampledb.keelson.dev/sampledbs",
  ref,
  application: (parts) => new SimRedis(parts),
  controllers: (simulation) => [sampleDB({ dial: simulatedDial(simulation) }), sampleDBBackup()],
  collected: ["sampledb.keelson.dev/sampledbs", "sampledb.keelson.dev/sampledbbackups"],
  beginnings: {
    "a replica": begin({ replicas: 1 }),
    "two replicas": begin({ replicas: 2 }),
    "two replicas, each must acknowledge": begin({
      replicas: 2,
      durability: { acknowledgements: 2, maxLagSeconds: 10 },
    }),
    "no replicas": begin({ replicas: 0 }),
    "a replica, with TLS": begin({ replicas: 1, tls: {} }),
    "a replica, with a given certificate": async (world) => {
      await giveCertificate(world);
      await begin({ replicas: 1, tls: { secretName: givenSecret } })(world);
    },
    "a replica, with a given password": async (world) => {
      await giveCredentials(world, "given-by-a-person");
      await begin({ replicas: 1, credentialsSecret: givenCredentials })(world);
    },
    "a replica, with a backup": async (world) => {
      await begin({ replicas: 1, backup: { schedule: "* * * * *" } })(world);
      for (let seconds = 0; seconds < 120 && !hasBackup(world); seconds += 5) await world.advance(5_000);
      await change(world, { backup: { schedule: null } });
      await world.advance(20_000);
    },
  },
  edits,
  faults,
  // All writes go to one server, and no operator sees that clients alone cannot reach it.
  without: ["line: clients to a pod"],
  makeFeasible,
  missing,
  client: {
    write: (world, key, value) => {
      const spec = databaseIn(world)?.spec;
      if (!spec || isBeingDeleted(world)) return undefined;
      const server = serving(world);
      const password = secretText(world, "db-binding", "password");
      if (server && (password === undefined || !server.allows("default", password))) return false;
      const replicas = server && world.application.write(server, key, value);
      // An application that wants to lose nothing asks for as many as the spec promises.
      const isDone =
        replicas !== undefined && replicas >= Math.min(spec.durability.acknowledgements, spec.replicas);
      if (isDone) acknowledgedIn(world).set(key, value);
      return isDone;
    },
    // A later write that too few acknowledged may be there too, and is no loss of the one before.
    read: (world) => {
      const keys = serving(world)?.files.keys;
      return (
        keys &&
        new Map(
          [...keys].map(([key, value]) => {
            const known = acknowledgedIn(world).get(key);
            return [key, known !== undefined && Number(value) >= Number(known) ? known : value];
          }),
        )
      );
    },
  },
  mayHaveLost: (world) => world.notes.get("mayHaveLost") === true,
  followAdvice,
  oracles,
  keeps: (world) =>
    world.notes.get("leaves") === "everything"
      ? ["persistentvolumeclaims", "pods", "services", "secrets", "configmaps", "policy/poddisruptionbudgets"]
      : ["persistentvolumeclaims"],
};

function begin(spec: object): (world: RedisWorld) => Promise<void> {
  return async (world) => {
    process.env["OPERATOR_IMAGE"] = "sampledb-operator:test";
    startWorkloads(world);
    const whole = { version: "7.0", onDelete: "Delete", ...spec };
    await world.client.kind(SampleDB).create(SampleDB.object({ metadata: ref, spec: whole as never }));
    for (let seconds = 0; seconds < 300 && missing(world) !== undefined; seconds += 2)
      await world.advance(2_000);
    const left = missing(world);
    if (left !== undefined) throw new Error(`the beginning was not reached: ${left}`);
    await world.advance(10_000);
  };
}

function hasBackup(world: RedisWorld): boolean {
  return backupsIn(world).some(({ status }) => status?.phase === "Done");
}

/** What was asked for and cannot be reached is taken back. */
async function makeFeasible(world: RedisWorld): Promise<void> {
  world.simulation.kubelet.missingImages.clear();
  world.notes.set("quiet", true);
  await change(world, feasible);
  await annotate(world, { "sampledb.keelson.dev/hand-over-to": null });
}

function missing(world: RedisWorld): string | undefined {
  if (world.notes.has("remaking")) return "it is being made again";
  const unfinished = backupsIn(world).find(
    ({ status }) => !/^(Done|Failed|Removed)$/.test(status?.phase ?? ""),
  );
  const db = databaseIn(world);
  if (!db) return undefined;
  if (isBeingDeleted(world)) return "it is still being deleted";
  if (!world.isReady) return "it is not Ready";
  const { spec, status } = db;
  if (status?.replicas !== spec.replicas) return `${status?.replicas} of ${spec.replicas} replicas follow`;
  if (!status.version?.startsWith(spec.version)) return `Redis ${status.version} runs, not ${spec.version}`;
  const late = lateCertificate(world);
  if (late !== undefined) return late;
  const server = serving(world);
  if (!server) return "the Service leads nowhere";
  if (server.name !== status.primary) return `the Service leads to ${server.name}, not to ${status.primary}`;
  if (unfinished) return `SampleDBBackup ${unfinished.metadata.name} is ${unfinished.status?.phase}`;
  return isPasswordEnding(world) ? "an old password is about to end" : undefined;
}

/** Longer than it takes to see that nothing is written at rest. */
const restMs = 180_000;

/** Passwords that were replaced end at a time that was set long before: then every server is told. */
function isPasswordEnding(world: RedisWorld): boolean {
  const overlapMs = (databaseIn(world)?.spec.passwordOverlapSeconds ?? 0) * 1_000;
  const text = secretText(world, "db-acl", "digests.json") ?? "{}";
  const histories = Object.values(parseJson(text) as unknown as Record<string, PasswordHistory>);
  const ends = histories.flatMap(({ earlier }) => earlier.map(({ since }) => Date.parse(since) + overlapMs));
  return ends.some((endMs) => endMs - world.clock.now() < restMs);
}

/** A certificate reaches servers a while after it was written, and an authority is replaced in steps. */
function lateCertificate(world: RedisWorld): string | undefined {
  const tls = databaseIn(world)?.spec.tls;
  if (!tls) return undefined;
  const managed = tls.secretName === undefined;
  const moving = secretText(world, "db-ca", "next.crt") ?? secretText(world, "db-ca", "previous.crt");
  if (managed && moving !== undefined) return "the authority is being replaced";
  const wanted = secretText(world, tls.secretName ?? "db-tls", "tls.crt");
  const late = [...world.application.servers].find(
    ({ certificate }) => certificate && certificate.certificate !== wanted,
  );
  return late && `${late.name} presents an old certificate`;
}

/** A proven backup is not there any more because its store was destroyed, which no operator can undo. */
function isDestroyed(world: RedisWorld, backup: string | undefined): boolean {
  const found = backupsIn(world).find(({ metadata }) => metadata.name === backup);
  if (found?.status?.phase !== "Done" || dumpNamed(world, found.status.name)) return false;
  return world.trace.some(
    ({ text }, i) => text.startsWith("volume: destroyed") && isOfStore(world.trace[i + 1]?.text),
  );
}

/** The volume of a pod that is no server is a store of backups. */
function isOfStore(note = ""): boolean {
  const [, pod] = /^it is the volume of (.*)$/.exec(note) ?? [];
  return pod !== undefined && !/^db-\d+$/.test(pod);
}

/** Does what the status tells a person to do. */
async function followAdvice(world: RedisWorld): Promise<string | undefined> {
  const ready = world.condition("Ready");
  const message = ready?.message ?? "";
  const runs = databaseIn(world)?.status?.imageVersion;
  if (ready?.reason === "VersionRefused" || message.includes("change the spec to try again")) {
    if (databaseIn(world)?.spec.version === runs) return undefined;
    await change(world, { version: runs });
    return `sets the version back to ${runs}`;
  }
  const [, newer] = /set spec\.version to ([\d.]+),/.exec(message) ?? [];
  if (ready?.reason === "RestoreFailed" && newer !== undefined) {
    await change(world, { version: newer });
    return `sets the version to ${newer}`;
  }
  const [, size] = /set spec\.storage\.size to (\w+),/.exec(message) ?? [];
  if (size !== undefined) {
    await change(world, { storage: { size } });
    return `sets the size of volumes back to ${size}`;
  }
  if (ready?.reason === "RestoreFailed") {
    if (isDestroyed(world, databaseIn(world)?.spec.restoreFrom?.backup)) allowLoss(world);
    await change(world, { restoreFrom: null });
    return "takes spec.restoreFrom back";
  }
  if (message.includes("delete the database and make it again")) {
    allowLoss(world);
    const { restoreFrom: _, ...spec } = databaseIn(world)?.spec ?? {};
    if (message.includes("set spec.onDelete to Delete")) await change(world, { onDelete: "Delete" });
    await world.client.kind(SampleDB).delete(ref);
    for (let seconds = 0; seconds < 300 && world.primary; seconds += 5) await world.advance(5_000);
    await world.client.kind(SampleDB).create(SampleDB.object({ metadata: ref, spec: spec as never }));
    return "makes the database again";
  }
  const approval = /set the annotation (\S+) to (\S+)/.exec(message);
  if (!approval) return undefined;
  const [, key = "", value = ""] = approval;
  if (world.notes.get("approved") === value) return undefined;
  world.notes.set("approved", value);
  allowLoss(world);
  await annotate(world, { [key]: value });
  return `approves the loss: ${value}`;
}
