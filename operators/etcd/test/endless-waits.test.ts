/** States in which the operator once waited for ever. */
import { PersistentVolumeClaim, Pod, StorageClass } from "keelson/kinds";
import { describe, expect, test } from "vitest";
import type { EtcdClusterObject } from "../src/api/cluster.ts";
import { annotations } from "../src/api/names.ts";
import { condition, healed, named, scenario, spec } from "./explore/scenario.ts";
import { type EtcdWorld, missing, ref } from "./explore/subject.ts";

const timeout = 60_000;
const isReached = condition((world) => expect(missing(world)).toBeUndefined());
const deletePod = (name: string) => async (world: EtcdWorld) => {
  await world.client.kind(Pod).delete(named(name));
};

describe("the image of the old version is gone", { timeout }, () => {
  const imageGone = ({ simulation }: EtcdWorld) => {
    simulation.kubelet.missingImages.add("gcr.io/etcd-development/etcd:v3.6.16");
  };

  test("a member that restarts takes the patch that the spec asks for", async () => {
    await scenario(
      "three members",
      [
        [0, imageGone],
        [0, deletePod("example-1")],
        [60_000, spec({ version: "3.6.17" })],
        [240_000, isReached],
      ],
      healed,
    );
  });

  test("the only member takes the patch that the spec asks for", async () => {
    await scenario(
      "one member",
      [
        [0, imageGone],
        [0, deletePod("example-0")],
        [60_000, spec({ version: "3.6.17" })],
        [180_000, isReached],
      ],
      healed,
    );
  });
});

describe("the node of a local volume was deleted", { timeout }, () => {
  const isLocal = (name: string, node: string | null) => async (world: EtcdWorld) => {
    const annotations = { "volume.kubernetes.io/selected-node": node };
    await world.client
      .kind(PersistentVolumeClaim)
      .patch(named(name), { type: "merge", body: { metadata: { annotations } } as never });
  };

  test("a member whose pod was made again is replaced", async () => {
    await scenario(
      "three members",
      [
        [0, isLocal("example-1", "deleted")],
        [0, deletePod("example-1")],
        [
          280_000,
          condition((world) => expect(world.pods.map((pod) => pod.metadata.name)).toContain("example-1")),
        ],
        [400_000, isReached],
      ],
      healed,
    );
  });

  test("two of three are not replaced: the others would have no majority", async () => {
    const names = (world: EtcdWorld) => world.pods.map(({ metadata }) => metadata.name).sort();
    await scenario("three members", [
      [0, isLocal("example-1", "deleted")],
      [0, isLocal("example-2", "deleted")],
      [0, deletePod("example-1")],
      [0, deletePod("example-2")],
      [600_000, condition((world) => expect(names(world)).toEqual(["example-0", "example-1", "example-2"]))],
      // One comes back, and the other is replaced.
      [600_000, isLocal("example-1", null)],
    ]);
  });
});

describe("a kubelet is silent, and the member on its node answers", { timeout }, () => {
  const nodeOf = (world: EtcdWorld, name: string) =>
    world.pods.find(({ metadata }) => metadata.name === name)?.spec?.nodeName ?? "";
  const destroy = async (world: EtcdWorld) => {
    await world.client.kind(PersistentVolumeClaim).delete(named("example-2"));
    await deletePod("example-2")(world);
  };
  const voters = (world: EtcdWorld) =>
    world.application.group
      .voters()
      .map(({ name }) => name)
      .sort();

  // Before and after Kubernetes gives up on the pods of the node.
  test.each([60_000, 400_000])("a member that is lost %i ms later is replaced", async (atMs) => {
    await scenario(
      "three members",
      [
        [0, async (world) => await world.simulation.nodes.silence(nodeOf(world, "example-1"))],
        [atMs, destroy],
        [
          atMs + 60_000,
          condition((world) => expect(voters(world)).toEqual(["example-0", "example-1", "example-3"])),
        ],
        [atMs + 60_000, async (world) => await world.simulation.nodes.restore(nodeOf(world, "example-1"))],
      ],
      healed,
    );
  });
});

describe("volumes may not grow", { timeout }, () => {
  const allow = (allowVolumeExpansion: boolean) => async (world: EtcdWorld) => {
    const body = { allowVolumeExpansion };
    await world.client.kind(StorageClass).patch({ name: "growing" }, { type: "merge", body });
  };
  const requested = (world: EtcdWorld) =>
    ["example-0", "example-1", "example-2"].map(
      (name) => world.simulation.volumes.claim("default", name)?.spec?.resources?.requests?.["storage"],
    );

  test("they grow when the storage class allows it, and nobody touches the spec", async () => {
    await scenario(
      "three members on volumes that grow",
      [
        [0, allow(false)],
        [0, spec({ storage: { size: "2Gi" } })],
        [
          100_000,
          condition((world) => {
            expect(world.condition("Ready")?.message).toContain("it is tried again at");
            expect(requested(world)).toEqual(["1Gi", "1Gi", "1Gi"]);
          }),
        ],
        [100_000, allow(true)],
        [300_000, isReached],
        [300_000, condition((world) => expect(requested(world)).toEqual(["2Gi", "2Gi", "2Gi"]))],
      ],
      healed,
    );
  });
});

describe("the pod of a survivor is evicted", { timeout }, () => {
  const destroy = (name: string) => async (world: EtcdWorld) => {
    world.notes.set("mayHaveLost", true);
    await world.client.kind(PersistentVolumeClaim).delete(named(name));
    await deletePod(name)(world);
  };

  test.each([
    ["drops the members that are lost", "Forcing", "true"],
    ["starts as usual", "Restarting", "false"],
  ])("while it %s: it gets another one, and the recovery goes on", async (_when, phase, forces) => {
    let isEvicted = false;
    const evict = ({ stored, simulation: { kubelet } }: EtcdWorld) => {
      stored.subscribe("pods", async () => {
        const { status } = (stored.get("etcd.keelson.dev/etcdclusters", ref.name, ref.namespace) ?? {}) as {
          status?: EtcdClusterObject["status"];
        };
        const pod = stored.get("pods", "example-0", ref.namespace);
        const mode = pod?.metadata.annotations?.[annotations.forceNewCluster];
        if (isEvicted || status?.recovery?.phase !== phase || mode !== forces) return;
        if (!kubelet.process("example-0")) return;
        isEvicted = true;
        await kubelet.evict("example-0");
      });
    };
    await scenario("three members", [
      [0, spec({ recovery: { quorumLoss: "Automatic" } })],
      [0, evict],
      [0, destroy("example-1")],
      [0, destroy("example-2")],
      [240_000, condition(() => expect(isEvicted).toBe(true))],
      [240_000, isReached],
    ]);
  });
});
