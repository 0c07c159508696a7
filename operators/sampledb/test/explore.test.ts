/** Generated scenarios with fixed seeds: a sample of what `npm run explore -- --operator sampledb` plays. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Beginnings, explore, formatReport, type Plan, replay } from "@keelson/testing";
import { ConfigMap, Job, PersistentVolumeClaim, Secret, Service, StatefulSet } from "keelson/kinds";
import { describe, expect, test } from "vitest";
import { SampleDB, type SampleDBObject } from "../src/api/sampledb.ts";
import { carriedOut } from "../src/observe/restores.ts";
import { failingScript } from "./explore/agent.ts";
import {
  allowLoss,
  backupsIn,
  change,
  databaseIn,
  type RedisWorld,
  ref,
  serving,
} from "./explore/database.ts";
import type { Files } from "./explore/files.ts";
import { found } from "./explore/found.ts";
import { scenario } from "./explore/happenings.ts";
import { subject } from "./explore/index.ts";

test("the operator passes fifteen generated scenarios", { timeout: 600_000 }, async () => {
  const report = await explore(subject, { runs: 15, seed: 1, failures: 3 });
  expect(report.failures.length, formatReport(subject.name, report)).toBe(0);
  expect(report.runs).toBe(15);
});

const beginnings = new Beginnings(subject);

describe("servers stay within reach", { timeout: 120_000 }, () => {
  const long = { atMs: 130_000, do: "edit: paused", forMs: 100 };
  const tls = (to: object | null) => ({
    atMs: 1_000,
    do: "edit: TLS is switched on or off",
    with: { tls: to } as never,
  });
  const given = "a replica, with a given certificate";

  test.each<[string, Omit<Plan, "seed">]>([
    ["when TLS is switched on", { beginning: "a replica", steps: [tls({})] }],
    ["when TLS is switched off", { beginning: "a replica, with TLS", steps: [tls(null)] }],
    [
      "when a given certificate gives way to a managed one",
      { beginning: given, steps: [tls({ secretName: null })] },
    ],
    [
      "when a person replaces the given certificate and its authority",
      {
        beginning: given,
        steps: [{ atMs: 1_000, do: "edit: the given certificate is replaced, and its authority" }, long],
      },
    ],
    [
      "while the given Secret is incomplete",
      {
        beginning: given,
        steps: [{ atMs: 1_000, do: "edit: the given Secret is incomplete", forMs: 60_000 }, long],
      },
    ],
  ])("%s", async (_name, plan) => {
    const { longestOutageMs, trace } = await replay(subject, { seed: 1, ...plan }, { beginnings });
    expect(trace.filter(({ text }) => text.includes("does not answer"))).toEqual([]);
    expect(longestOutageMs).toBeLessThanOrEqual(5_000);
  });
});

describe("an upgrade", { timeout: 120_000 }, () => {
  const long = { atMs: 200_000, do: "edit: paused", forMs: 100 };
  const steps = (migrations: readonly object[]) => [
    { atMs: 1_000, do: "edit: a newer version", with: { version: "8.0", migrations } as never },
    long,
  ];

  test.each(["no replicas", "a replica", "two replicas"])(
    "ends writes for a moment only: %s",
    async (beginning) => {
      const { longestOutageMs } = await replay(
        subject,
        { seed: 1, beginning, steps: steps([]) },
        { beginnings, writeEveryMs: 50 },
      );
      expect(longestOutageMs).toBeLessThanOrEqual(1_000);
    },
  );

  test.each(["no replicas", "a replica"])("goes back when a migration fails: %s", async (beginning) => {
    const fails = { version: 1, name: "change", since: "8.0", script: failingScript };
    const { trace } = await replay(subject, { seed: 1, beginning, steps: steps([fails]) }, { beginnings });
    expect(trace.some(({ text }) => text.includes("7.0 runs on"))).toBe(true);
  });
});

test("an upgrade runs the migrations that waited for it, and those after them, in order", {
  timeout: 120_000,
}, async () => {
  const change1 = { version: 1, name: "change", since: "8.0", script: "return 1" };
  const change2 = { version: 2, name: "follow-up", script: "return 2" };
  const schema = (world: RedisWorld) => databaseIn(world)?.status?.schemaVersion;
  await scenario("a replica", [
    [1_000, async (world) => await change(world, { migrations: [change1, change2] })],
    [
      30_000,
      async (world) => {
        expect(schema(world)).toBe(0);
        await change(world, { version: "8.0" });
      },
    ],
    [120_000, (world) => expect(schema(world)).toBe(2)],
  ]);
});

test("a lowered size is refused with a sentence, and no new volume is smaller than the others", {
  timeout: 120_000,
}, async () => {
  const claims = async ({ client }: RedisWorld) => {
    const { items } = await client.kind(PersistentVolumeClaim).list({ namespace: "default" });
    const servers = items.filter(({ metadata }) => metadata.name.startsWith("data-"));
    return servers.map(({ spec }) => String(spec?.resources?.requests?.["storage"]));
  };
  await scenario("a replica", [
    [1_000, async (world) => await change(world, { storage: { size: "512Mi" }, replicas: 2 })],
    [
      30_000,
      async (world) => {
        const { reason, message } = world.condition("Ready") ?? {};
        expect(reason).toBe("ResizeRefused");
        expect(message).toContain("set spec.storage.size to 1Gi");
        expect(await claims(world)).toEqual(["1Gi", "1Gi", "1Gi"]);
        expect(databaseIn(world)?.status?.replicas).toBe(2);
        await change(world, { storage: { size: "1Gi" } });
      },
    ],
  ]);
});

test.each<[string, object]>([
  ["is lowered", { backup: { size: "1Gi" } }],
  ["is raised where its class does not allow it", { backup: { size: "50Gi" } }],
  ["is to have another class", { storage: { className: "other" } }],
])(
  "a database is looked after while the volume of its backups %s",
  { timeout: 120_000 },
  async (_name, spec) => {
    const { longestOutageMs } = await scenario("a replica", [
      [1_000, async (world) => await change(world, spec)],
      [10_000, ({ simulation }) => simulation.kubelet.crash("db-0")],
      [30_000, (world) => expect(world.isReady).toBe(true)],
    ]);
    expect(longestOutageMs).toBeLessThanOrEqual(5_000);
  },
);

describe("the Secret with the passwords of servers and operator", { timeout: 120_000 }, () => {
  const secret = { namespace: "default", name: "db-internal" };
  const remove = async ({ client }: RedisWorld) => void (await client.kind(Secret).delete(secret));

  test("is put back as it was when someone deletes it", async () => {
    // Longer than an old password stays valid.
    const { longestOutageMs } = await scenario("a replica", [
      [1_000, remove],
      [700_000, async (world) => world.simulation.kubelet.crash("db-0")],
      [900_000, () => {}],
    ]);
    expect(longestOutageMs).toBeLessThanOrEqual(5_000);
  });

  test("is made again when nobody remembers it, and every server learns the new passwords", async () => {
    await scenario("two replicas", [
      [
        1_000,
        async (world) => {
          await remove(world);
          world.simulation.cluster.crash();
        },
      ],
    ]);
  });
});

test("a silent primary is noticed while the spec is refused", { timeout: 120_000 }, async () => {
  const { longestOutageMs, trace } = await replay(
    subject,
    {
      beginning: "two replicas",
      seed: 1,
      steps: [
        { atMs: 1_000, do: "edit: another version", with: { version: "9.0" } },
        { atMs: 20_000, do: "line: a pod from everyone", forMs: 90_000, with: { which: 0, how: "dropped" } },
      ],
    },
    { beginnings },
  );
  expect(trace.map(({ text }) => text).join("\n")).toContain("Promoting");
  expect(longestOutageMs).toBeLessThanOrEqual(20_000);
});

test("a database that lost its status is deleted with a last snapshot all the same", {
  timeout: 120_000,
}, async () => {
  const remove = async (world: RedisWorld) => {
    const status = Object.fromEntries(Object.keys(world.primary?.status ?? {}).map((key) => [key, null]));
    const body = { status } as never;
    await world.client.kind(SampleDB).subresource("status").patch(ref, { type: "merge", body });
    world.notes.set("leaves", "Snapshot");
    await world.client.kind(SampleDB).delete(ref);
  };
  const { trace } = await scenario("a replica", [
    [1_000, async (world) => await change(world, { onDelete: "Snapshot" })],
    [20_000, remove],
    [
      200_000,
      (world) =>
        world.note(
          backupsIn(world)
            .map(({ status }) => status?.phase)
            .join(),
        ),
    ],
  ]);
  expect(trace.map(({ text }) => text)).toContain("Done");
});

test("what the README says removes a database without an operator, and leaves its backups", {
  timeout: 120_000,
}, async () => {
  const labels = "app.kubernetes.io/name=sampledb,app.kubernetes.io/instance=db";
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  expect(readme).toContain(
    `kubectl delete statefulset,job,service,secret,configmap -l ${labels.replace("=db", "=NAME")}`,
  );
  const remove = async (world: RedisWorld) => {
    const { client } = world;
    for (const manager of world.simulation.cluster.managers) manager.pause();
    allowLoss(world);
    await client.kind(SampleDB).delete(ref);
    const body = { metadata: { finalizers: null } } as never;
    await client.kind(SampleDB).patch(ref, { type: "merge", body });
    for (const kind of [StatefulSet, Job, Service, Secret, ConfigMap]) {
      const { items } = await client.kind(kind as typeof Secret).list({ namespace: "default", labels });
      for (const { metadata } of items) await client.kind(kind as typeof Secret).delete(metadata);
    }
    for (const name of ["data-db-0", "data-db-1"])
      await client.kind(PersistentVolumeClaim).delete({ namespace: "default", name });
  };
  await scenario("a replica, with a backup", [
    [1_000, remove],
    [
      60_000,
      async (world) => {
        expect(world.application.servers.size).toBe(0);
        const left = (resource: string) =>
          world.stored.list(resource, "default").map(({ metadata }) => metadata.name);
        const resources = ["apps/statefulsets", "batch/jobs", "services", "secrets", "configmaps"];
        // Those are of somebody else, in every scenario.
        const others = ["db-extra", "db-notes", "db-token", "kubernetes"];
        expect([...resources, "policy/poddisruptionbudgets"].flatMap(left).sort()).toEqual(others);
        expect(left("persistentvolumeclaims")).toEqual(["db-backups"]);
        expect(backupsIn(world).map(({ status }) => status?.phase)).toContain("Done");
        for (const manager of world.simulation.cluster.managers) manager.resume();
      },
    ],
  ]);
});

test.each([
  ["answer late", 20_000, "db-final"],
  ["never answer", 100_000, "db-final-cold"],
])("a last snapshot is taken of servers that %s", { timeout: 120_000 }, async (_name, forMs, taken) => {
  let finals: readonly string[] = [];
  const look = (world: RedisWorld) => {
    finals = backupsIn(world).flatMap(({ metadata, status }) =>
      metadata.name.includes("final") && status?.phase === "Done" ? [metadata.name] : [],
    );
  };
  await replay(
    {
      ...subject,
      oracles: [...subject.oracles, { name: "look", atRest: (world) => look(world) as undefined }],
    },
    {
      beginning: "a replica",
      seed: 1,
      steps: [
        { atMs: 1_000, do: "line: operator to a pod", forMs, with: { which: 0, all: true, how: "dropped" } },
        { atMs: 2_000, do: "edit: deleted", with: { propagation: "Background", onDelete: "Snapshot" } },
      ],
    },
    { beginnings },
  );
  expect(finals.map((name) => name.replace(/-[^-]*$/, ""))).toEqual([taken]);
});

test("nobody writes after the last snapshot, however long the operator is away", {
  timeout: 120_000,
}, async () => {
  const write = (world: RedisWorld) => {
    const [server] = [...world.application.servers].filter(({ role }) => role === "primary");
    return server && world.application.write(server, "late", "1");
  };
  const away = (isAway: boolean) => (world: RedisWorld) => {
    for (const manager of world.simulation.cluster.managers) isAway ? manager.pause() : manager.resume();
  };
  await scenario("a replica", [
    [
      1_000,
      async (world) => {
        await change(world, { onDelete: "Snapshot" });
        world.application.taskMs = 30_000;
        world.notes.set("leaves", "Snapshot");
        await world.client.kind(SampleDB).delete(ref);
      },
    ],
    [5_000, away(true)],
    [
      55_000,
      (world) => {
        expect(world.application.servers.size).toBe(2);
        expect(write(world)).toBeUndefined();
      },
    ],
    [56_000, away(false)],
  ]);
});

test("a reference that a person took off one Service keeps nothing else, though the status is lost too", {
  timeout: 120_000,
}, async () => {
  const remove = async (world: RedisWorld) => {
    const [manager] = world.simulation.cluster.managers;
    manager?.pause();
    const body = { metadata: { ownerReferences: null } } as never;
    await world.client.kind(Service).patch(ref, { type: "merge", body });
    await wipeStatus(world);
    world.notes.set("leaves", "Snapshot");
    await world.client.kind(SampleDB).delete(ref);
    manager?.resume();
  };
  await scenario("a replica", [
    [1_000, async (world) => await change(world, { onDelete: "Snapshot" })],
    [20_000, remove],
    [
      200_000,
      async (world) => {
        expect(backupsIn(world).map(({ status }) => status?.phase)).toEqual(["Done"]);
        // Nobody knows any more that it was ours.
        await world.client.kind(Service).delete(ref);
      },
    ],
  ]);
});

test("a version older than the data is refused when a database is made again on its volumes", {
  timeout: 120_000,
}, async () => {
  const { trace } = await replay(
    subject,
    {
      beginning: "no replicas",
      seed: 1,
      steps: [
        { atMs: 0, do: "edit: a newer version", with: { version: "8.0", migrations: [] } },
        { atMs: 60_000, do: "edit: another version", with: { version: "7.0" } },
        {
          atMs: 61_000,
          do: "edit: deleted and made again",
          with: { propagation: "Background", onDelete: "Retain" },
        },
      ],
    },
    { beginnings },
  );
  const texts = trace.map(({ text }) => text);
  const again = texts.slice(texts.indexOf("made again"));
  expect(again.join("\n")).toContain("VersionRefused");
  expect(again.join("\n")).not.toContain("DataLost");
});

async function wipeStatus({ client }: RedisWorld): Promise<void> {
  const operations = [{ op: "replace", path: "/status", value: {} }] as never;
  await client.kind(SampleDB).subresource("status").patch(ref, { type: "json", operations });
}

test("a spec that goes back to an earlier restore takes nothing away, also when the status is lost", {
  timeout: 120_000,
}, async () => {
  const ask = (request: string) => async (world: RedisWorld) => {
    allowLoss(world);
    await change(world, { restoreFrom: { backup: backupsIn(world)[0]?.metadata.name, request } });
  };
  const served = (world: RedisWorld) => serving(world)?.files.keys.size ?? 0;
  let keys = 0;
  const isKept = (world: RedisWorld) => {
    expect(world.condition("Ready")?.reason).toBe("RestoreFailed");
    expect(carriedOut(databaseIn(world)?.status ?? {})).toHaveLength(2);
    expect(served(world)).toBeGreaterThanOrEqual(keys);
  };
  await scenario("a replica, with a backup", [
    [1_000, ask("")],
    [60_000, ask("2")],
    [
      180_000,
      async (world) => {
        keys = served(world);
        await ask("")(world);
      },
    ],
    [210_000, isKept],
    [211_000, wipeStatus],
    [240_000, isKept],
  ]);
});

describe("a restore that nobody remembers is completed before anything else uses its volume", {
  timeout: 120_000,
}, () => {
  /** Begins a restore, and does something as soon as its Job fills the volume, or has come further. */
  const whileFilling =
    (
      what: (world: RedisWorld) => Promise<void>,
      isTime = ({ application }: RedisWorld) => application.filling.size > 0,
    ) =>
    async (world: RedisWorld) => {
      const backup = backupsIn(world)[0]?.metadata.name;
      allowLoss(world);
      world.application.taskMs = 20_000;
      await change(world, { restoreFrom: { backup } });
      const look = () => {
        if (isTime(world)) void what(world);
        else world.clock.timer(50, look);
      };
      look();
    };
  const remake =
    (restoreFrom: (backup: string) => object | undefined, propagation: "Orphan" | "Background" = "Orphan") =>
    async (world: RedisWorld): Promise<void> => {
      const { spec } = structuredClone(databaseIn(world)) as SampleDBObject;
      await change(world, { onDelete: "Retain" });
      await world.client.kind(SampleDB).delete(ref, { propagation });
      const again = async () => {
        if (world.primary) return void world.clock.timer(20, () => void again());
        const from = restoreFrom(spec.restoreFrom?.backup ?? "");
        const next = { ...spec, restoreFrom: from } as never;
        await world.client.kind(SampleDB).create(SampleDB.object({ metadata: ref, spec: next }));
      };
      await again();
    };

  test.each<[string, (world: RedisWorld) => Promise<void>]>([
    ["the database is made again around its servers", remake(() => undefined)],
    ["it is made again with the same restore", remake((backup) => ({ backup }))],
    ["it is made again with another restore", remake((backup) => ({ backup, request: "2" }))],
    ["the status is wiped", wipeStatus],
  ])("%s", async (_name, what) => {
    await scenario("a replica, with a backup", [
      [1_000, whileFilling(what)],
      [120_000, (world) => expect(databaseIn(world)?.status?.restore?.phase).toBe("Done")],
    ]);
  });

  test("unless the database is deleted: then it ends first", async () => {
    const begin = whileFilling(remake(() => undefined, "Background"));
    await scenario("a replica, with a backup", [
      [1_000, begin],
      [120_000, (world) => expect(world.isReady).toBe(true)],
    ]);
  });

  test("and what it had set aside is served again when it was killed before anything took its place", async () => {
    const half = ({ simulation }: RedisWorld) =>
      [...simulation.volumes.all.values()]
        .map(({ data }) => data as Files | undefined)
        .find((files) => files?.unfinished !== undefined);
    let before: readonly string[] = [];
    const begin = whileFilling(
      async (world) => {
        before = [...(half(world)?.keys.keys() ?? [])];
        for (const pod of world.application.filling) world.simulation.kubelet.crash(pod);
        await remake(() => undefined, "Background")(world);
      },
      (world) => half(world) !== undefined,
    );
    await scenario("a replica, with a backup", [
      [10_000, begin],
      [
        120_000,
        (world) => {
          expect(before.length).toBeGreaterThan(0);
          expect([...(serving(world)?.files.keys.keys() ?? [])]).toEqual(expect.arrayContaining([...before]));
        },
      ],
    ]);
  });
});

test.each([
  ["8.0", "7.0"],
  ["7.0", "8.0"],
])("a new database whose image %s is missing starts with %s instead", { timeout: 120_000 }, async (a, b) => {
  const { trace } = await scenario("no replicas", [
    [
      0,
      async (world) => {
        allowLoss(world);
        world.simulation.kubelet.missingImages.add(`redis:${a}`);
        await world.client.kind(SampleDB).delete(ref);
        while (world.primary) await world.advance(1_000);
        const spec = { version: a, replicas: 0, onDelete: "Delete" } as never;
        await world.client.kind(SampleDB).create(SampleDB.object({ metadata: ref, spec }));
      },
    ],
    [30_000, async (world) => await change(world, { version: b })],
    [60_000, (world) => expect(databaseIn(world)?.status?.version).toBe(`${b}.1`)],
  ]);
  expect(trace.some(({ text }) => text.includes("Upgrading"))).toBe(false);
});

test("an upgrade goes back to a primary that is damaged, and a person lets another lead: it gets an empty volume", {
  timeout: 120_000,
}, async () => {
  await scenario("a replica", [
    [1_000, async (world) => await change(world, { version: "8.0" })],
    [9_000, async (world) => await change(world, { replicas: 0 })],
    [
      9_200,
      ({ application, simulation }) => {
        const { volume } = application.server("db-0") ?? {};
        if (volume) volume.corrupt = true;
        simulation.kubelet.crash("db-0");
      },
    ],
  ]);
});

test.each(["no replicas", "a replica"])(
  "a claim is deleted by hand, and its pod stays: processes that start again serve what it holds: %s",
  { timeout: 120_000 },
  async (beginning) => {
    const { longestOutageMs, trace } = await scenario(beginning, [
      [
        1_000,
        async ({ client }) => {
          const claims = client.kind(PersistentVolumeClaim);
          const { items } = await claims.list({ namespace: "default" });
          for (const { metadata } of items) {
            const { name } = metadata;
            if (/^data-db-\d$/.test(name)) await claims.delete({ namespace: "default", name });
          }
        },
      ],
      [
        3_000,
        ({ application, simulation }) => {
          for (const { name } of [...application.servers]) simulation.kubelet.crash(name);
        },
      ],
    ]);
    expect(longestOutageMs).toBeLessThanOrEqual(5_000);
    expect(trace.map(({ text }) => text).join("\n")).not.toContain("a person follows the advice");
  },
);

describe("what exploring once found", { timeout: 120_000 }, () => {
  test.each(Object.entries(found))("%s", async (_name, plan) => {
    await replay(subject, plan, { beginnings });
  });
});
