/** Volumes and members that are lost while something else is under way. */
import { PersistentVolumeClaim, Pod, Secret } from "keelson/kinds";
import { describe, expect, test } from "vitest";
import { EtcdCluster, type EtcdClusterObject } from "../src/api/cluster.ts";
import { authorityName } from "../src/resources/certificate-names.ts";
import { condition, each, type Happening, healed, named, scenario, spec } from "./explore/scenario.ts";
import { makeAgain } from "./explore/scene.ts";
import { type EtcdWorld, ref } from "./explore/subject.ts";

const { namespace } = ref;
const three = "three members";
const timeout = 60_000;
const destroy = (name: string) => async (world: EtcdWorld) => {
  await world.client.kind(PersistentVolumeClaim).delete(named(name));
  await world.client.kind(Pod).delete(named(name));
};
const statusOf = (world: EtcdWorld) => world.primary?.status as EtcdClusterObject["status"];

describe("claims that are deleted while their pods run", { timeout }, () => {
  const deleteClaims = each((name) => async (world) => {
    await world.client.kind(PersistentVolumeClaim).delete(named(name));
  });
  const isReplaced = condition((world) => {
    const claims = world.stored.list("persistentvolumeclaims", namespace);
    expect(claims.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([]);
    expect(world.condition("Ready")?.status).toBe("True");
  });

  test.each([
    ["one member", "example-0"],
    [three, "example-2"],
  ])("%s: others copy the data before the last of them is gone", async (beginning, last) => {
    await scenario(
      beginning,
      [
        [0, deleteClaims],
        [120_000, isReplaced],
        [
          120_000,
          condition((world) => expect(world.pods.map(({ metadata }) => metadata.name)).not.toContain(last)),
        ],
      ],
      healed,
    );
  });

  test("the only one, and the spec asks for three: the cluster grows", async () => {
    await scenario(
      "one member",
      [
        [0, spec({ paused: true })],
        [0, deleteClaims],
        [1_000, spec({ paused: false, size: 3 })],
        [120_000, isReplaced],
      ],
      healed,
    );
  });

  test("and the cluster is to hibernate: it does when others have the data", async () => {
    const isAsleep = condition((world) => {
      expect(world.pods).toEqual([]);
      expect(world.condition("Ready")?.message).toBe("hibernated: no member runs, all data is kept");
    });
    for (const beginning of ["one member", three])
      await scenario(
        beginning,
        [
          [0, deleteClaims],
          [0, spec({ hibernate: true })],
          [90_000, isAsleep],
          [90_000, spec({ hibernate: false })],
        ],
        healed,
      );
  });

  test("and the cluster is deleted: it goes when others have the data, and continues when it is made again", async () => {
    const remake = async (world: EtcdWorld) => {
      const made = world.primary?.spec ?? {};
      await world.client.kind(EtcdCluster).delete(ref);
      await makeAgain(world, made);
    };
    for (const beginning of ["one member", three])
      await scenario(
        beginning,
        [
          [0, deleteClaims],
          [0, remake],
          [150_000, isReplaced],
        ],
        healed,
      );
  });

  test("and the cluster is deleted with a final backup: there are never less than two copies", async () => {
    const copies = new Set<number>();
    const store = (isDown: boolean) => (world: EtcdWorld) => {
      world.application.tasks.storeDown = isDown;
    };
    await scenario(three, [
      [0, spec({ deletion: { finalBackup: { claim: { name: "vault" } } } })],
      [0, store(true)],
      [0, deleteClaims],
      [0, async (world) => void (await world.client.kind(EtcdCluster).delete(ref))],
      ...Array.from(
        { length: 90 },
        (_, second): Happening => [
          second * 1_000,
          (world) => void copies.add(world.application.group.voters().length),
        ],
      ),
      [90_000, store(false)],
    ]);
    expect(Math.min(...copies)).toBe(2);
  });

  test("and the cluster is deleted with its volumes: nothing is replaced", async () => {
    const isGone = condition((world) => {
      expect(world.primary).toBeUndefined();
      expect(world.application.processes.size).toBe(0);
    });
    await scenario(three, [
      [0, spec({ deletion: { volumes: "Remove" } })],
      [0, deleteClaims],
      [0, async (world) => void (await world.client.kind(EtcdCluster).delete(ref))],
      [20_000, isGone],
    ]);
  });
});

describe("a rollout", { timeout }, () => {
  const isWrong = (name: string, wrong: boolean) => (world: EtcdWorld) => {
    for (const process of world.application.processes) if (process.name === name) process.data.wrong = wrong;
  };
  const isStopped = condition((world) => {
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "Corrupt" });
    expect(world.condition("Degraded")?.message).toMatch(/example-1 has other data.*delete the claim/);
  });

  test("stops when a member has other data, says whose, and goes on when the data is the same again", async () => {
    await scenario(
      three,
      [
        [0, spec({ settings: { snapshotCount: 5_000 } })],
        [5_000, isWrong("example-1", true)],
        [90_000, isStopped],
        [390_000, isStopped],
        [400_000, isWrong("example-1", false)],
      ],
      { convergeMs: 400_000 },
    );
  });

  test("goes on when the member that has other data was replaced", async () => {
    await scenario(
      three,
      [
        [0, spec({ settings: { snapshotCount: 5_000 } })],
        [5_000, isWrong("example-1", true)],
        [90_000, isStopped],
        [
          91_000,
          async (world) => {
            await world.client.kind(PersistentVolumeClaim).delete(named("example-1"));
            await world.client.kind(Pod).delete(named("example-1"));
          },
        ],
      ],
      healed,
    );
  });

  test("goes on when a member that was lost meanwhile is replaced, so that no restart costs the quorum", async () => {
    let served = 3;
    await scenario(
      "three members of 3.5",
      [
        [0, spec({ version: "3.6.16" })],
        [7_500, destroy("example-1")],
        ...Array.from(
          { length: 30 },
          (_, second): Happening => [
            16_000 + second * 1_000,
            (world) => {
              const ready = statusOf(world)?.members?.filter((each) => each.ready).length ?? 0;
              if (statusOf(world)?.rollout) served = Math.min(served, ready);
            },
          ],
        ),
      ],
      healed,
    );
    expect(served).toBe(2);
  });

  test("to a new minor has no way back, also for the survivor of a recovery", async () => {
    await scenario("three members of 3.5", [
      [0, spec({ version: "3.6.16", recovery: { quorumLoss: "Automatic" } })],
      [
        26_000,
        condition((world) => {
          expect(statusOf(world)?.rollout).toBeDefined();
          expect(world.application.group.clusterMinor).toBe(6);
          world.notes.set("mayHaveLost", true);
        }),
      ],
      [26_000, destroy("example-1")],
      [26_000, destroy("example-2")],
      [90_000, condition((world) => expect(statusOf(world)?.version).toBe("3.6.16"))],
    ]);
  });

  test("to a new minor goes on when the status is wiped: nobody restarts with what cannot read the data", async () => {
    const before = "v3.6.16";
    let restarted = 0;
    const watch = (world: EtcdWorld) => {
      const look = () => {
        restarted += world.pods.filter(({ spec }) => spec.containers[0]?.image?.endsWith(before)).length;
      };
      world.stored.subscribe("pods", look);
    };
    await scenario("two members", [
      [0, spec({ version: "3.7.3" })],
      [16_700, watch],
      [
        16_700,
        async (world) => {
          const body = { status: { members: null, template: null, rollout: null, clusterId: null } } as never;
          await world.client.kind(EtcdCluster).subresource("status").patch(ref, { type: "merge", body });
        },
      ],
    ]);
    expect(restarted).toBe(0);
  });

  test("is completed when the spec is taken back too late", async () => {
    await scenario("three members of 3.5", [
      [0, spec({ version: "3.6.16" })],
      [26_000, condition((world) => expect(statusOf(world)?.rollout).toBeDefined())],
      [26_000, spec({ version: "3.5.35" })],
      [
        60_000,
        condition((world) => {
          expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "VersionRefused" });
          expect(statusOf(world)?.rollout).toBeUndefined();
        }),
      ],
    ]);
  });
});

test("the survivor of a recovery whose claim is deleted as it starts is replaced while it serves", {
  timeout,
}, async () => {
  let deleted = 0;
  const deleteClaim = async (world: EtcdWorld) => {
    const { recovery } = statusOf(world) ?? {};
    // Before that nothing keeps the claim.
    const isScheduled = world.pods.some(({ spec: { nodeName } }) => nodeName !== undefined);
    if (deleted > 0 || recovery?.phase !== "Forcing" || !isScheduled) return;
    deleted += 1;
    await world.client.kind(PersistentVolumeClaim).delete(named(recovery.survivor));
  };
  const often = Array.from({ length: 250 }, (_, i): Happening => [30_000 + i * 20, deleteClaim]);
  await scenario(
    three,
    [
      [0, spec({ recovery: { quorumLoss: "Automatic" } })],
      [0, (world) => void world.notes.set("mayHaveLost", true)],
      [0, destroy("example-1")],
      [0, destroy("example-2")],
      ...often,
    ],
    healed,
  );
  expect(deleted).toBe(1);
});

describe("the key of the authority for peers is deleted", { timeout }, () => {
  const secured = "three members with TLS and a password";
  const deleteAuthority = async (world: EtcdWorld) => {
    await world.client.kind(Secret).delete(named(authorityName(ref.name, "peer")));
  };
  const claimUid = ({ stored }: EtcdWorld, name: string) =>
    stored.get("persistentvolumeclaims", name, namespace)?.metadata.uid;

  test("and a majority is lost: no member starts from a volume that the recovery has set aside", async () => {
    const uids = new Map<string, string | undefined>();
    const corrupt = (name: string) => (world: EtcdWorld) => {
      uids.set(name, claimUid(world, name));
      const volume = world.simulation.volumes.of(namespace, name);
      if (volume) volume.corrupt = true;
      world.simulation.kubelet.crash(name);
      world.notes.set("mayHaveLost", true);
    };
    await scenario(secured, [
      [0, spec({ recovery: { quorumLoss: "Automatic" } })],
      [0, deleteAuthority],
      [0, corrupt("example-0")],
      [0, corrupt("example-1")],
      [
        300_000,
        condition((world) => {
          expect(world.condition("Ready")?.status).toBe("True");
          for (const [name, uid] of uids) expect(claimUid(world, name)).toBe(uid);
          expect(world.pods.map(({ metadata }) => metadata.name).sort()).toEqual([
            "example-2",
            "example-3",
            "example-4",
          ]);
        }),
      ],
    ]);
  });

  test("and the claim of the only member: it says so, and a backup of it is restored", async () => {
    await scenario(secured, [
      [0, spec({ size: 1 })],
      [
        60_000,
        each((name) => async (world) => {
          await world.client.kind(PersistentVolumeClaim).delete(named(name));
        }),
      ],
      [60_000, deleteAuthority],
      [
        90_000,
        condition((world) =>
          expect(world.condition("Ready")?.message).toMatch(/cannot be replaced.*EtcdBackup/),
        ),
      ],
    ]);
  });
});
