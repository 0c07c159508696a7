/** Combinations of faults that once led to an outage without end, or to a condition that was untrue. */
import { operatorName, type PodObject } from "@keelson/testing";
import type { Condition } from "keelson";
import { PersistentVolumeClaim, Pod, PodDisruptionBudget, Secret, Service } from "keelson/kinds";
import { describe, expect, test, vi } from "vitest";
import { EtcdBackup } from "../src/api/backup.ts";
import { EtcdCluster } from "../src/api/cluster.ts";
import { condition, each, healed, named, scenario, spec } from "./explore/scenario.ts";
import { type EtcdWorld, ref } from "./explore/subject.ts";
import { World } from "./simulation/world.ts";

const { namespace } = ref;
const three = "three members";

const size = (count: number) => spec({ size: count });
const killPod = (name: string) => async (world: EtcdWorld) => {
  if (world.stored.get("pods", name, namespace)) await world.client.kind(Pod).delete(named(name));
};
const label = (name: string, key: string, value: string | null) => async (world: EtcdWorld) => {
  const body = { metadata: { labels: { [key]: value } } } as never;
  await world.client.kind(Pod).patch(named(name), { type: "merge", body });
};
const claimLabel = (name: string, key: string, value: string | null) => async (world: EtcdWorld) => {
  const body = { metadata: { labels: { [key]: value } } } as never;
  await world.client.kind(PersistentVolumeClaim).patch(named(name), { type: "merge", body });
};
const wipeStatus = async (world: EtcdWorld) => {
  const body = { status: { members: null, template: null, clusterId: null, inventory: null } } as never;
  await world.client.kind(EtcdCluster).subresource("status").patch(ref, { type: "merge", body });
};
const remove = (propagation: "Background" | "Foreground" | "Orphan") => async (world: EtcdWorld) => {
  world.notes.set("deleted", true);
  await world.client.kind(EtcdCluster).delete(ref, { propagation });
};
const create =
  (change: object = {}) =>
  async (world: EtcdWorld) => {
    await world.client
      .kind(EtcdCluster)
      .create({ metadata: ref, spec: { size: 3, version: "3.6.16", ...change } as never });
  };
const volumes = (full: boolean) => (world: EtcdWorld) => {
  for (const { metadata } of world.pods) {
    const volume = world.simulation.volumes.of(namespace, metadata.name);
    if (volume) volume.full = full;
    if (full) world.simulation.kubelet.crash(metadata.name);
  }
};
const backup = (name: string) => async (world: EtcdWorld) => {
  await world.client.kind(EtcdBackup).create({
    metadata: named(name),
    spec: { cluster: ref.name, store: { claim: { name: "vault" } } },
  } as never);
};
const useUpQuota = ({ application }: EtcdWorld) => {
  application.group.history = 1_000_000;
};
const finalBackup = spec({ deletion: { finalBackup: { claim: { name: "vault" } } } });
/** The one final backup was restored to see whether it can be, and lies in the store. */
const backedUp = ({ stored, application }: EtcdWorld) => {
  const [final, ...others] = stored.list("etcd.keelson.dev/etcdbackups", namespace);
  expect(others).toEqual([]);
  const { name = "", keys } = (final?.status ?? {}) as { name?: string; keys?: number };
  expect(final).toMatchObject({
    metadata: { name: expect.stringMatching(/^example-final-/) },
    status: { phase: "Done", verifiedAt: expect.any(String) },
  });
  expect(application.tasks.vault.get(name)?.manifest).toMatchObject({ verified: { keys } });
};
const timeout = 60_000;

describe("deletion", { timeout }, () => {
  test("with --cascade=orphan leaves the members running, and the next cluster adopts everything", async () => {
    const uids = new Set<string | undefined>();
    const note = (world: EtcdWorld) => {
      for (const { metadata } of world.pods) uids.add(metadata.uid);
    };
    await scenario(
      three,
      [
        [0, note],
        [0, remove("Orphan")],
        [5_000, create()],
        [30_000, note],
      ],
      healed,
    );
    expect(uids.size).toBe(3);
  });

  test("in the foreground keeps the members for the final backup, though their Service was replaced before", async () => {
    await scenario(
      three,
      [
        [0, async (world) => void (await world.client.kind(Service).delete(named("example")))],
        [10_000, finalBackup],
        [10_000, remove("Foreground")],
      ],
      { ...healed, onEnd: backedUp },
    );
  });

  test("of a hibernated cluster starts its members for the final backup", async () => {
    await scenario(
      three,
      [
        [0, spec({ hibernate: true })],
        [20_000, finalBackup],
        [21_000, remove("Background")],
      ],
      { onEnd: backedUp },
    );
  });

  test("of a paused cluster starts its members for the final backup", async () => {
    await scenario(
      three,
      [
        [0, spec({ paused: true })],
        [1_000, each(killPod)],
        [20_000, condition((world) => expect(world.pods).toEqual([]))],
        [20_000, finalBackup],
        [21_000, remove("Background")],
      ],
      { ...healed, onEnd: backedUp },
    );
  });

  test("of a cluster whose status was wiped while nobody looked takes the final backup all the same", async () => {
    const before = new Set<string | undefined>();
    let left = 0;
    await scenario(three, [
      [0, spec({ deletion: { volumes: "Remove", finalBackup: { claim: { name: "vault" } } } })],
      [
        10_000,
        ({ pods, simulation }) => {
          for (const { metadata } of pods) before.add(metadata.uid);
          simulation.cluster.managers[0]?.pause();
        },
      ],
      [10_100, wipeStatus],
      [10_200, remove("Background")],
      [10_300, ({ simulation }) => simulation.cluster.managers[0]?.resume()],
      [
        12_000,
        async (world) => {
          const [final] = (await world.client.kind(EtcdBackup).list(ref)).items;
          expect(final?.spec.cluster).toBe(ref.name);
          left = world.pods.filter(({ metadata }) => before.has(metadata.uid)).length;
        },
      ],
    ]);
    expect(left).toBe(3);
  });

  test("says what it does, and what is to be done about a final backup that failed", async () => {
    const said: (string | undefined)[] = [];
    const note = (world: EtcdWorld) => void said.push(world.condition("Ready")?.reason);
    await scenario(
      three,
      [
        [0, finalBackup],
        [
          0,
          ({ application }) => {
            application.tasks.storeDown = true;
          },
        ],
        [0, remove("Background")],
        [5_000, note],
        [60_000, note],
        [
          60_000,
          condition((world) => {
            expect(world.condition("Stalled")?.status).toBe("True");
            expect(world.condition("Ready")?.message).toMatch(
              /nothing is removed, because the final backup \S+ failed: the store does not answer; delete that EtcdBackup to try again/,
            );
            expect(world.pods).toHaveLength(3);
            world.application.tasks.storeDown = false;
          }),
        ],
      ],
      { onEnd: backedUp },
    );
    expect(said).toEqual(["Deleting", "FinalBackupFailed"]);
  });

  test("and another cluster of the same name with restoreFrom: nothing is ignored, a person decides", async () => {
    vi.stubEnv("OPERATOR_IMAGE", "operator");
    let isRefused = false;
    await scenario(three, [
      [0, backup("before")],
      [20_000, remove("Background")],
      [40_000, create({ restoreFrom: { backup: "before" } })],
      [
        60_000,
        condition((world) => {
          const ready = world.condition("Ready");
          expect(ready).toMatchObject({ status: "False", reason: "SpecRefused" });
          expect(ready?.message).toMatch(/delete these claims to restore the backup/);
          isRefused = true;
        }),
      ],
      [
        61_000,
        async (world) => {
          world.notes.set("mayHaveLost", true);
          for (const name of ["example-0", "example-1", "example-2"])
            await world.client.kind(PersistentVolumeClaim).delete(named(name));
        },
      ],
    ]);
    expect(isRefused).toBe(true);
  });
});

describe("made again under the same name", { timeout }, () => {
  test("with TLS between members: refused, and made again as it was it continues", async () => {
    let isRefused = false;
    await scenario(three, [
      [0, remove("Background")],
      [20_000, create({ tls: { peer: { mode: "Managed" } } })],
      [
        60_000,
        condition((world) => {
          const ready = world.condition("Ready");
          expect(ready).toMatchObject({ status: "False", reason: "SpecRefused" });
          expect(ready?.message).toMatch(
            /make the cluster again without spec.tls.peer to continue from them/,
          );
          expect(world.pods).toEqual([]);
          isRefused = true;
        }),
      ],
      [61_000, remove("Background")],
      [80_000, create()],
    ]);
    expect(isRefused).toBe(true);
  });
});

describe("changes of size", { timeout }, () => {
  test("are told by the condition Progressing, until they are over", async () => {
    const said: object[] = [];
    const note = (world: EtcdWorld) => {
      const { status, reason } = world.condition("Progressing") ?? {};
      said.push({ status, reason });
    };
    const [growing, rest] = [
      { status: "True", reason: "Growing" },
      { status: "False", reason: "Healthy" },
    ];
    await scenario(
      three,
      [
        [0, note],
        [0, size(5)],
        [2_000, note],
        [120_000, note],
      ],
      healed,
    );
    expect(said).toEqual([rest, growing, rest]);
  });

  test("3, 1, 5, 3, 2, 5 while pods are deleted end in a cluster that serves", async () => {
    await scenario(three, [
      [0, size(1)],
      [2_000, killPod("example-1")],
      [5_000, size(5)],
      [9_000, killPod("example-0")],
      [15_000, size(3)],
      [17_000, each(killPod)],
      [20_000, size(2)],
      [26_000, killPod("example-2")],
      [30_000, size(5)],
    ]);
  });

  test("from 2 to 1: the pod of the member that leaves is deleted while its vote is needed", async () => {
    await scenario(
      "two members",
      [
        [0, size(1)],
        [200, killPod("example-1")],
        [300, killPod("example-0")],
      ],
      healed,
    );
  });

  test("taken back while the new member cannot be scheduled: it does not wait for a member that nobody wants", async () => {
    const cordon = (cordoned: boolean) => async (world: EtcdWorld) => {
      for (const node of world.simulation.nodes.all.keys())
        await world.simulation.nodes.cordon(node, cordoned);
    };
    const played = await scenario(
      three,
      [
        [0, cordon(true)],
        [1_000, size(5)],
        [30_000, size(3)],
      ],
      healed,
    );
    expect(played.convergedMs).toBeLessThan(30_000);
  });
});

describe("changes by hand", { timeout }, () => {
  test.each(["app.kubernetes.io/instance", "app.kubernetes.io/name", "etcd.keelson.dev/role"])(
    "the label %s of a pod, and of all pods, is put back",
    async (key) => {
      await scenario(
        three,
        [
          [0, label("example-1", key, "other")],
          [20_000, each((name) => label(name, key, null))],
        ],
        healed,
      );
    },
  );

  test.each(["keelson.dev/owner", "keelson.dev/controller", "keelson.dev/slot", "keelson.dev/key"])(
    "the label %s of a claim: its member is not removed",
    async (key) => {
      await scenario(three, [[0, claimLabel("example-1", key, null)]], healed);
    },
  );

  test.each([null, "other", "0"])(
    "the key of a claim becomes %s and the status is wiped while nobody looks: it is known by its name",
    async (value) => {
      await scenario(
        three,
        [
          [0, ({ simulation }) => simulation.cluster.managers[0]?.pause()],
          [100, claimLabel("example-1", "keelson.dev/key", value)],
          [200, label("example-2", "keelson.dev/key", value)],
          [300, wipeStatus],
          [400, ({ simulation }) => simulation.cluster.managers[0]?.resume()],
          [20_000, size(2)],
        ],
        healed,
      );
    },
  );

  test("the owner's label of all claims, and all pods are gone: nobody says that the data is lost", async () => {
    await scenario(
      three,
      [
        [0, each((name) => claimLabel(name, "keelson.dev/owner", null))],
        [100, each(killPod)],
      ],
      healed,
    );
  });

  test("a voter that someone added with etcdctl is reported, with what removes it", async () => {
    let id = "";
    await scenario(
      three,
      [
        [
          0,
          (world) => {
            const { application } = world;
            id = application.drawId();
            application.group.propose({
              type: "add",
              member: { id, peerUrl: "http://10.9.9.9:2380", learner: false },
            });
            application.stir();
          },
        ],
        [
          20_000,
          condition((world) => {
            const hex = BigInt(id).toString(16);
            expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "UnknownMembers" });
            expect(world.condition("Degraded")?.message).toContain(`etcdctl member remove ${hex}`);
          }),
        ],
        [
          40_000,
          ({ application }) => {
            application.group.propose({ type: "remove", id });
            application.stir();
          },
        ],
      ],
      healed,
    );
  });

  test("a cluster that is paused while a pass waits for a silent member gets no pod from that pass", async () => {
    const isThere = (world: EtcdWorld) => world.stored.get("pods", "example-1", namespace) !== undefined;
    await scenario(
      three,
      [
        [
          0,
          async (world) => {
            const { network } = world.simulation;
            const { intercept } = network;
            const restored = network.impair({ from: operatorName, to: "example-2", how: "dropped" });
            // The first pass may not know yet that the pod is gone; the second one decides to start it again.
            network.intercept = (call) => {
              if (world.atMs > 0 && call.method === "status" && !isThere(world)) {
                network.intercept = intercept;
                world.note("paused");
                void spec({ paused: true })(world);
                world.clock.timer(30_000, restored);
              }
              return intercept(call);
            };
            await world.client.kind(Pod).delete(named("example-1"), { gracePeriodSeconds: 0 });
          },
        ],
        [
          20_000,
          async (world) => {
            expect(world.trace.some(({ text }) => text === "paused")).toBe(true);
            expect(isThere(world)).toBe(false);
            expect(world.condition("Ready")?.reason).toBe("Paused");
            await spec({ paused: false })(world);
          },
        ],
      ],
      healed,
    );
  });

  test("while the cluster is paused nothing is put back, afterwards everything", async () => {
    const gone = [
      ["services", "example-client"],
      ["policy/poddisruptionbudgets", "example"],
      ["secrets", "example-1-server-tls"],
    ] as const;
    const found = ({ stored }: EtcdWorld) =>
      gone.filter(([resource, name]) => stored.get(resource, name, namespace)).map(([, name]) => name);
    let writes = 0;
    await scenario(
      "three members with TLS and a password",
      [
        [0, spec({ paused: true })],
        [
          5_000,
          async (world) => {
            expect(found(world)).toEqual(gone.map(([, name]) => name));
            await world.client.kind(Service).delete(named("example-client"));
            await world.client.kind(PodDisruptionBudget).delete(named("example"));
            await world.client.kind(Secret).delete(named("example-1-server-tls"));
            ({ length: writes } = world.simulation.cluster.writes);
          },
        ],
        [
          60_000,
          async (world) => {
            expect(found(world)).toEqual([]);
            const applied = world.simulation.cluster.writes.slice(writes);
            const others = applied.filter(({ path }) => !/\/(status|events(\/\S+)?)$/.test(path));
            // Its status says what is missing; nothing else is written.
            expect(others.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
            expect(world.condition("Ready")?.reason).toBe("Paused");
            await spec({ paused: false })(world);
          },
        ],
      ],
      { ...healed, onEnd: (world) => expect(found(world)).toEqual(gone.map(([, name]) => name)) },
    );
  });
});

describe("several clusters", { timeout }, () => {
  test("four have a pod that swallows packets: a pod of a fifth is there again within 15 s", async () => {
    await using world = await World.start();
    const { client, clock, stored } = world.cluster;
    const names = ["a", "b", "c", "d", "fifth"];
    for (const name of names)
      await client
        .kind(EtcdCluster)
        .create({ metadata: named(name), spec: { size: 3, version: "3.6.16" } as never });
    const isReady = (name: string) => {
      const { status } = (stored.get("etcd.keelson.dev/etcdclusters", name, namespace) ?? {}) as {
        status?: { conditions?: readonly Condition[] };
      };
      return status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") ?? false;
    };
    await world.cluster.until(() => names.every(isReady));
    const silent = names.slice(0, -1);
    for (const name of silent) {
      world.simulation.network.impair({ to: `${name}-1`, how: "dropped" });
      world.simulation.network.impair({ from: `${name}-1`, how: "dropped" });
    }
    // All of them are looked at, and nobody knows yet who does not answer.
    for (const name of silent) {
      const body = { metadata: { annotations: { "example.com/look": "now" } } };
      await client.kind(EtcdCluster).patch(named(name), { type: "merge", body });
    }
    await world.cluster.advance(1_000);
    const uid = () => {
      const { metadata, status } = (stored.get("pods", "fifth-1", namespace) ?? {}) as Partial<PodObject>;
      const isServing = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
      return isServing && metadata?.deletionTimestamp === undefined ? metadata?.uid : undefined;
    };
    const before = uid();
    expect(before).toBeDefined();
    const sinceMs = clock.monotonic();
    await client.kind(Pod).delete(named("fifth-1"));
    await world.cluster.until(() => ![undefined, before].includes(uid()), 60_000);
    expect(clock.monotonic() - sinceMs).toBeLessThanOrEqual(15_000);
  });
});

describe("without a quorum", { timeout }, () => {
  test("one pod swallows packets, one is deleted, one is killed", async () => {
    let end = () => {};
    const played = await scenario(
      three,
      [
        [
          0,
          ({ simulation: { network } }) => {
            const ends = [
              network.impair({ to: "example-0", how: "dropped" }),
              network.impair({ from: "example-0", how: "dropped" }),
            ];
            end = () => {
              for (const each of ends) each();
            };
          },
        ],
        [5_000, killPod("example-1")],
        [5_000, ({ simulation }) => simulation.kubelet.crash("example-2")],
        [90_000, () => end()],
      ],
      healed,
    );
    // The two that are well serve again, whatever the third does.
    expect(played.longestOutageMs).toBeLessThan(60_000);
  });

  test.each([
    { ms: 300, available: "True" },
    { ms: 3_000, available: "False" },
  ])("lines between pods are $ms ms slow: Available is $available", async ({ ms, available }) => {
    const ends: (() => void)[] = [];
    const played = await scenario(
      three,
      [
        [
          0,
          ({ simulation: { network } }) => {
            for (const to of ["example-0", "example-1", "example-2"])
              ends.push(network.impair({ from: "example-0", to, how: "slow", ms }));
            ends.push(network.impair({ from: "example-1", to: "example-2", how: "slow", ms }));
          },
        ],
        [60_000, condition((world) => expect(world.condition("Available")?.status).toBe(available))],
        [
          61_000,
          () => {
            for (const end of ends) end();
          },
        ],
      ],
      healed,
    );
    if (available === "False") expect(played.longestOutageMs).toBeGreaterThan(60_000);
    else expect(played.longestOutageMs).toBeLessThan(5_000);
  });

  test("the node pool is relabelled, the pods are gone, and the spec is corrected", async () => {
    await scenario(
      "three members on a node pool",
      [
        [
          0,
          async (world) => {
            for (const node of world.simulation.nodes.all.keys())
              await world.simulation.nodes.relabel(node, { pool: "new" });
          },
        ],
        [1_000, each(killPod)],
        [60_000, spec({ pod: { nodeSelector: { pool: "new" } } })],
      ],
      healed,
    );
  });

  test("all volumes are full, and storage.size is raised", async () => {
    await scenario(
      "three members on volumes that grow",
      [
        [0, volumes(true)],
        [60_000, spec({ storage: { size: "3Gi" } })],
      ],
      healed,
    );
  });

  test("a rollout that breaks the only member is rolled back when the spec is", async () => {
    await scenario("one member", [
      [0, ({ application }) => void application.brokenVersions.add("3.6.17")],
      [0, spec({ version: "3.6.17" })],
      [60_000, spec({ version: "3.6.16" })],
    ]);
  });
});

describe("the loss of data", { timeout }, () => {
  const wipe = (world: EtcdWorld) => {
    for (const { metadata } of world.pods) {
      delete world.simulation.volumes.of(namespace, metadata.name)?.data;
      world.simulation.kubelet.crash(metadata.name);
    }
  };

  test("of all volumes is said, and stays said until a person makes a new cluster", async () => {
    const lost = condition((world) => {
      expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "AllDataLost" });
      expect(world.condition("Degraded")).toMatchObject({ status: "True", reason: "AllDataLost" });
      expect(world.condition("Available")).toMatchObject({ status: "False" });
      world.notes.set("mayHaveLost", true);
    });
    await scenario(three, [
      [0, wipe],
      [90_000, lost],
      [150_000, lost],
    ]);
  });
});

describe("space", { timeout }, () => {
  test("the quota is used up by history: it is dropped, and the alarm is lifted", async () => {
    await scenario("three members with a small quota", [[0, useUpQuota]], healed);
  });

  test("a quota is raised while there is no space", async () => {
    await scenario(
      "three members with a small quota",
      [
        [0, useUpQuota],
        [500, spec({ storage: { quotaBytes: 8_000_000 } })],
      ],
      healed,
    );
  });

  test("the data fills the quota: the status asks for a larger one, and that is rolled out while nothing is written", async () => {
    await scenario(
      "three members with a small quota",
      [
        [
          0,
          ({ application }) => {
            application.group.ballast = 1_000_000;
          },
        ],
        [
          40_000,
          condition((world) => {
            expect(world.condition("Ready")?.message).toContain("raise spec.storage.quotaBytes");
          }),
        ],
        [41_000, spec({ storage: { quotaBytes: 8_000_000 } })],
      ],
      healed,
    );
  });
});

describe("backups", { timeout }, () => {
  test("20 at once are taken a few at a time, and all of them are done", async () => {
    let most = 0;
    await scenario(three, [
      [
        0,
        async (world) => {
          for (let i = 0; i < 20; i++) await backup(`manual-${i}`)(world);
        },
      ],
      [
        100_000,
        ({ application }) => {
          most = application.tasks.mostAtOnce;
        },
      ],
    ]);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(2);
  });
});
