/** The SampleDB operator as the explorer plays it. */
import { clientName, type Disturbance, type Oracle, pick, type Subject, type World } from "@keelson/testing";
import { SampleDB, type SampleDBObject } from "../../src/api/sampledb.ts";
import { sampleDBBackup } from "../../src/backup/backup.ts";
import { sampleDB } from "../../src/reconcile.ts";
import { failingScript, SimRedis, type SimServer } from "./application.ts";
import { simulatedDial } from "./client.ts";
import { giveCertificate, givenCertificateEdits, givenSecret } from "./given-certificate.ts";
import { startWorkloads } from "./workloads.ts";

export const ref = { namespace: "default", name: "db" };

type RedisWorld = World<SimRedis>;
type Edit = Disturbance<SimRedis>;

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
  },
  edits: [
    edit("edit: replicas", (random) => ({ replicas: pick([0, 1, 1, 2, 3], random) })),
    edit("edit: a setting that needs a restart", (random) => ({
      settings: { databases: String(16 + pick([1, 2, 3, 4], random)) },
    })),
    edit("edit: a live setting", (random) => ({ settings: { timeout: String(pick([0, 60, 120], random)) } })),
    {
      name: "edit: a setting that no server starts with",
      lastsMs: 180_000,
      begin: async (world) => {
        world.application.badSettings.add("databases 99999");
        await change(world, { settings: { databases: "99999" } });
        return () => change(world, { settings: null });
      },
    },
    {
      name: "edit: nodes that do not exist",
      lastsMs: 180_000,
      begin: async (world) => {
        await change(world, { pod: { nodeSelector: { pool: "gone" } } });
        return () => change(world, { pod: { nodeSelector: null } });
      },
    },
    {
      name: "edit: paused",
      lastsMs: 120_000,
      begin: async (world) => {
        await change(world, { paused: true });
        return () => change(world, { paused: false });
      },
    },
    edit("edit: a newer version", (random) => ({
      version: "8.0",
      migrations: pick([[], [], [migration("return 1")], [migration(failingScript)]], random),
    })),
    edit("edit: TLS is switched on or off", (random) => ({ tls: pick([{}, {}, null], random) })),
    ...givenCertificateEdits,
    annotation("edit: another authority is asked for", "sampledb.keelson.dev/rotate-authorities", (random) =>
      String(random.next()).slice(2, 8),
    ),
    annotation("edit: a handover is asked for", "sampledb.keelson.dev/hand-over-to", (random) =>
      pick(["db-0", "db-1", "db-2"], random),
    ),
    annotation("edit: passwords are rotated", "sampledb.keelson.dev/rotate-passwords", (random) =>
      String(random.next()).slice(2, 8),
    ),
  ],
  makeFeasible: async (world) => {
    await change(world, { paused: false, settings: null, pod: { nodeSelector: null }, migrations: null });
    const body = { metadata: { annotations: { "sampledb.keelson.dev/hand-over-to": null } } };
    await world.client.kind(SampleDB).patch(ref, { type: "merge", body: body as never });
  },
  missing,
  client: {
    write: (world, key, value) => {
      const { primary } = world;
      const spec = primary?.spec as SampleDBObject["spec"] | undefined;
      if (!spec || primary?.metadata.deletionTimestamp !== undefined) return undefined;
      const server = serving(world);
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
  oracles: [
    // Not what must hold, but what every world needs: this is called when it begins.
    { name: "pods are made for StatefulSets and Jobs", attach: startWorkloads },
    onePrimary(),
    {
      name: "Redis is treated as it must be",
      always: ({ application }) => application.violations[0],
    },
  ],
  keeps: () => ["persistentvolumeclaims", "secrets", "configmaps"],
};

function migration(script: string) {
  return { version: 1, name: "change", since: "8.0", script };
}

function acknowledgedIn(world: RedisWorld): Map<string, string> {
  const known = world.notes.get("acknowledged") as Map<string, string> | undefined;
  if (known) return known;
  const made = new Map<string, string>();
  world.notes.set("acknowledged", made);
  return made;
}

/** Where the Service leads, if a client gets through. */
function serving(world: RedisWorld): SimServer | undefined {
  const { simulation, application } = world;
  return simulation
    .endpoints(ref.namespace, ref.name)
    .map(({ metadata }) => application.server(metadata.name))
    .find((server) => server?.running && simulation.network.connected(clientName, server.name));
}

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

async function change(world: RedisWorld, spec: object): Promise<void> {
  if (!world.primary || world.primary.metadata.deletionTimestamp !== undefined) return;
  try {
    await world.client.kind(SampleDB).patch(ref, { type: "merge", body: { spec } as never });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 422) throw error;
    world.note(`refused: ${(error as Error).message.slice(0, 120)}`);
  }
}

type Choose = NonNullable<Edit["choose"]>;

function edit(name: string, choose: Choose): Edit {
  return { name, weight: 2, choose, begin: async (world, spec) => await change(world, spec) };
}

function annotation(name: string, key: string, value: (random: Parameters<Choose>[0]) => string): Edit {
  return {
    name,
    choose: (random) => ({ value: value(random) }),
    begin: async (world, args) => {
      if (!world.primary) return;
      const body = { metadata: { annotations: { [key]: String(args["value"]) } } };
      await world.client.kind(SampleDB).patch(ref, { type: "merge", body });
    },
  };
}

function missing(world: RedisWorld): string | undefined {
  const { primary } = world;
  if (!primary) return undefined;
  if (!world.isReady) return "it is not Ready";
  const spec = primary.spec as unknown as SampleDBObject["spec"];
  const status = primary.status as SampleDBObject["status"];
  if (status?.replicas !== spec.replicas) return `${status?.replicas} of ${spec.replicas} replicas follow`;
  if (!status.version?.startsWith(spec.version)) return `Redis ${status.version} runs, not ${spec.version}`;
  const server = serving(world);
  if (!server) return "the Service leads nowhere";
  return server.name === status.primary
    ? undefined
    : `the Service leads to ${server.name}, not to ${status.primary}`;
}

/** Two primaries that both take writes with enough acknowledgements are never there. */
function onePrimary(): Oracle<SimRedis> {
  return {
    name: "at most one primary takes writes that WAIT acknowledges",
    always: ({ application, primary }) => {
      const acks = (primary?.spec as SampleDBObject["spec"] | undefined)?.durability.acknowledgements ?? 1;
      const able = [...application.servers].filter(
        (server) =>
          server.running &&
          server.role === "primary" &&
          server.closeReplicas >= server.guard &&
          server.replicas.filter(({ server: each }) => each.isLinkedTo(server)).length >= Math.max(1, acks),
      );
      return able.length > 1 ? `${able.map(({ name }) => name).join(" and ")} lead at once` : undefined;
    },
  };
}

/** Does what the status tells a person to do. */
async function followAdvice(world: RedisWorld): Promise<string | undefined> {
  const message = world.condition("Ready")?.message ?? "";
  if (message.includes("delete the database and make it again")) {
    world.notes.set("mayHaveLost", true);
    const spec = { ...world.primary?.spec };
    await world.client.kind(SampleDB).delete(ref);
    for (let seconds = 0; seconds < 120 && world.primary; seconds += 5) await world.advance(5_000);
    await world.client.kind(SampleDB).create(SampleDB.object({ metadata: ref, spec: spec as never }));
    return "makes the database again";
  }
  const approval = /set the annotation (\S+) to (\S+)/.exec(message);
  if (!approval) return undefined;
  const [, key = "", value = ""] = approval;
  if (world.notes.get("approved") === value) return undefined;
  world.notes.set("approved", value);
  world.notes.set("mayHaveLost", true);
  const body = { metadata: { annotations: { [key]: value } } };
  await world.client.kind(SampleDB).patch(ref, { type: "merge", body });
  return `approves the loss: ${value}`;
}
