/** What must hold for any operator. */
import { ConfigMap, Secret, Service } from "@keelson/core/kinds";
import type { Application } from "../simulation/process.ts";
import { isOfManagers, leases } from "./leases.ts";
import type { KeptData, Load } from "./load.ts";
import type { Oracle } from "./oracle.ts";
import { destroyed } from "./scene.ts";
import type { Subject } from "./subject.ts";
import type { World } from "./world.ts";

/** How long a status may lag behind the world while the operator can see it. */
const statusLagMs = 45_000;
/** Writes of one scenario beyond which nothing will ever come to rest. */
const mostWrites = 4_000;
/** A wait that is longer than this must say what would end it. */
const explainedMs = 120_000;

/** Ready=True is a promise: a client's write through the Service succeeds. */
function readyIsTrue(load: { readonly outageMs: number }): Oracle {
  return {
    name: "Ready=True means that clients are served",
    eventually: {
      withinMs: statusLagMs,
      check: (world) =>
        world.isReady && load.outageMs > 5_000
          ? `Ready=True (${world.condition("Ready")?.message}), and no write has succeeded for ${Math.round(load.outageMs / 1_000)} s`
          : undefined,
    },
  };
}

const currentStatus: Oracle = {
  name: "the status speaks of the current spec",
  eventually: {
    withinMs: statusLagMs,
    check: ({ observedGeneration, primary, subject }) => {
      if (!primary || primary.metadata.deletionTimestamp !== undefined) return undefined;
      const { generation } = primary.metadata;
      if (observedGeneration !== generation)
        return `generation ${generation} is not observed (${observedGeneration})`;
      const { conditions = [] } = primary.status ?? {};
      const expected = subject.conditions ?? ["Ready", "Reconciling", "Stalled"];
      const missing = expected.find((type) => !conditions.some((each) => each.type === type));
      return missing === undefined ? undefined : `the condition ${missing} is missing`;
    },
  },
};

/** A person who looks at a wait learns what it waits for. */
function explained<A extends Application>({ remedies }: Subject<A>): Oracle {
  return {
    name: "every wait names what would end it",
    eventually: {
      withinMs: explainedMs,
      check: (world) => {
        const ready = world.condition("Ready");
        if (!ready || ready.status === "True" || namesSomething(world, ready.message)) return undefined;
        if (remedies?.test(ready.message)) return undefined;
        return `${ready.reason}: ${JSON.stringify(ready.message)} names nothing that would end it`;
      },
    },
  };
}

const naming = ["pods", "persistentvolumeclaims", "secrets", "services", "configmaps"];

function namesSomething(world: World, message: string): boolean {
  if (/\bspec\b|keelson\.dev\/|restoreFrom|API server/.test(message)) return true;
  const { namespace, name } = world.subject.ref;
  const known = [
    ...naming.flatMap((resource) => world.stored.list(resource, namespace)),
    ...world.stored.list("nodes"),
  ];
  return (
    known.some(({ metadata }) => message.includes(metadata.name)) || new RegExp(`\\b${name}-`).test(message)
  );
}

const noLivelock: Oracle = {
  name: "writes come to an end",
  always: ({ simulation }) =>
    simulation.cluster.writes.length > mostWrites
      ? `${simulation.cluster.writes.length} writes in one scenario`
      : undefined,
};

const permitted: Oracle = {
  name: "nothing is done without permission",
  always: ({ simulation }) => simulation.cluster.forbidden[0],
};

/** How long a leader may go on after its last renewal. */
const renewDeadlineMs = 12_000;

/** Where managers hold a lease, one that has not renewed it for so long writes nothing: another may lead by now. */
const fenced: Oracle = {
  name: "who does not hold the lease writes nothing",
  attach: (world) => {
    const { cluster, clock } = world.simulation;
    const renewedMs = new Map<string, number>();
    let looked = cluster.writes.length;
    const look = () => {
      for (const { manager, atMs, method, path } of cluster.writes.slice(looked)) {
        const sinceMs = atMs - (renewedMs.get(manager) ?? Number.NEGATIVE_INFINITY);
        if (renewedMs.size > 0 && sinceMs > renewDeadlineMs)
          world.violate(
            fenced.name,
            `${manager} sent ${method} ${path} ${sinceMs} ms after its last renewal`,
          );
      }
      looked = cluster.writes.length;
    };
    world.stored.subscribe(leases, ({ type, object }) => {
      look();
      if (!isOfManagers(object)) return;
      const { holderIdentity = "" } = (object.spec ?? {}) as { holderIdentity?: string };
      if (type !== "DELETED") renewedMs.set(holderIdentity.split("_")[0] ?? "", clock.monotonic());
    });
    world.notes.set("fenced", look);
  },
  always: (world) => {
    (world.notes.get("fenced") as () => void)();
    return undefined;
  },
};

/** An error that nobody foresaw shows as one. */
const noInternalErrors: Oracle = {
  name: "no error goes unexplained",
  eventually: {
    withinMs: statusLagMs,
    check: (world) => {
      const ready = world.condition("Ready");
      const internal = ready?.reason === "InternalError" || ready?.reason === "ReconcileFailed";
      return internal ? `${ready.reason}: ${ready.message}` : undefined;
    },
  },
};

/** What a cluster has beside the operator's objects. */
export async function addBystanders(world: World): Promise<void> {
  const { name, namespace } = world.subject.ref;
  const labels = { "app.kubernetes.io/part-of": name };
  const named = (suffix: string) => ({ metadata: { namespace, name: `${name}-${suffix}`, labels } });
  await world.client.kind(ConfigMap).create({ ...named("notes"), data: { text: "of a person" } });
  await world.client.kind(Secret).create({ ...named("token"), data: { token: canary } });
  await world.client.kind(Service).create({ ...named("extra"), spec: { ports: [{ port: 80 }] } });
}

const canary = Buffer.from("canary-of-a-bystander-4711").toString("base64");
const bystanders: readonly (readonly [string, string])[] = [
  ["configmaps", "notes"],
  ["secrets", "token"],
  ["services", "extra"],
];

const untouched: Oracle = {
  name: "nothing of others is touched",
  attach: (world) => {
    for (const [resource, suffix] of bystanders)
      world.notes.set(`bystander/${suffix}`, versionOf(world, resource, suffix));
  },
  always: (world) => {
    for (const [resource, suffix] of bystanders) {
      const before = world.notes.get(`bystander/${suffix}`);
      if (before !== undefined && before !== versionOf(world, resource, suffix))
        return `${resource} ${world.subject.ref.name}-${suffix} is not what it was`;
    }
    return undefined;
  },
};

function versionOf(world: World, resource: string, suffix: string): string | undefined {
  const { name, namespace } = world.subject.ref;
  return world.stored.get(resource, `${name}-${suffix}`, namespace)?.metadata.resourceVersion;
}

/** Everything that a deleted object had is gone, but for what its spec keeps. */
function nothingLeft<A extends Application>(subject: Subject<A>): Oracle<A> {
  return {
    name: "nothing is left behind",
    atRest: (world) => {
      if (world.primary) return undefined;
      const kept = subject.keeps?.(world) ?? [];
      for (const resource of [
        "pods",
        "services",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "policy/poddisruptionbudgets",
      ]) {
        if (kept.includes(resource)) continue;
        const [left] = world.owned(resource);
        if (left) return `${resource} ${left.metadata.name} is left of ${world.subject.ref.name}`;
      }
      return undefined;
    },
  };
}

/** What Secrets hold stands nowhere else. */
const noSecrets: Oracle = {
  name: "no secret is shown",
  atRest: (world) => {
    const { namespace } = world.subject.ref;
    const secrets = world.stored.list("secrets", namespace).flatMap(({ metadata, data, type }) =>
      Object.entries((data ?? {}) as Record<string, string>)
        .filter(([key]) => !key.endsWith(".crt") && !isAddress(String(type ?? ""), key))
        .map(([key, value]) => ({ where: `${metadata.name}/${key}`, value: secretText(value) }))
        .filter(({ value }) => value.length >= 3),
    );
    if (secrets.length === 0) return undefined;
    const shown = [
      ...["events.k8s.io/events", "events", "pods", "configmaps", "services", world.subject.resource].flatMap(
        (resource) =>
          world.stored.list(resource, namespace).map((object) => ({
            where: `${resource} ${object.metadata.name}`,
            text: JSON.stringify(object),
          })),
      ),
      { where: "the log", text: world.logs.lines.join("\n") },
    ];
    for (const { where, text } of shown) {
      const leaked = secrets.find(({ value }) => text.includes(value));
      if (leaked) return `${where} shows the content of Secret ${leaked.where}`;
    }
    return undefined;
  },
};

/** A service binding tells where the service is beside how to get in. */
function isAddress(type: string, key: string): boolean {
  return (
    type.startsWith("servicebinding.io/") && key !== "password" && key !== "uri" && !key.endsWith(".key")
  );
}

/** Of a key in PEM, a stretch from its middle; of a word, the word when it is long enough to be told from others. */
function secretText(base64: string): string {
  const text = Buffer.from(base64, "base64").toString();
  if (!text.includes("PRIVATE KEY")) return text.length >= 10 ? text : "";
  const body = text.split("\n").slice(1, -2).join("");
  return body.slice(40, 80);
}

function nothingLost<A extends Application>(subject: Subject<A>, load: Load<A>): Oracle<A> {
  return {
    name: "acknowledged data is never lost",
    atRest: (world) => {
      if (subject.mayHaveLost?.(world)) return undefined;
      for (const { where, data } of leftOf(subject, world))
        for (const [key, value] of load.acknowledged)
          if (data.get(key) !== value)
            return `${key} was acknowledged as ${value} and is ${data.get(key)}${where && ` ${where}`}`;
      return undefined;
    },
  };
}

/** All data, or what a deleted resource keeps. What people destroyed by hand before they deleted it, nobody can keep. */
function leftOf<A extends Application>({ client }: Subject<A>, world: World<A>): readonly KeptData[] {
  if (!world.primary) return world.notes.has(destroyed) ? [] : (client.readKept?.(world) ?? []);
  const data = client.read(world);
  return data ? [{ where: "", data }] : [];
}

export function generalOracles<A extends Application>(
  subject: Subject<A>,
  load: Load<A>,
): readonly Oracle<A>[] {
  return [
    readyIsTrue(load),
    currentStatus,
    explained(subject),
    noLivelock,
    permitted,
    fenced,
    noInternalErrors,
    untouched,
    nothingLeft(subject),
    noSecrets,
    nothingLost(subject, load),
  ];
}
