// StatefulSets: ordinals, rollouts, claims, history.
import { claims, pod, scenario, statefulSet } from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { v2 } from "./_objects.mjs";

export default [
  scenario("StatefulSet: ordinals start at another number", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { ordinals: { start: 5 } } }));
    await s.settle();
    await s.shot("five and six");
  }),
  scenario("StatefulSet: minReadySeconds", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { minReadySeconds: 1 } }));
    await s.settle(4000);
    await s.shot("up");
  }),
  scenario("StatefulSet: back to an old template", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.apply(statefulSet("s", 2, { image: "example/app:2" }));
    await s.settle();
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.shot("back");
  }),
  scenario("StatefulSet: a small revisionHistoryLimit", async (s) => {
    for (const v of [1, 2, 3, 4]) {
      await s.apply(statefulSet("s", 1, { image: `example/app:${v}`, spec: { revisionHistoryLimit: 1 } }));
      await s.settle();
    }
    await s.shot("history");
  }),
  scenario("StatefulSet: a rollout is stuck at the last pod", async (s) => {
    await s.apply(statefulSet("s", 3));
    await s.settle();
    await s.apply(statefulSet("s", 3, { image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("StatefulSet: claims are deleted when it is scaled down", async (s) => {
    const spec = {
      podManagementPolicy: "Parallel",
      volumeClaimTemplates: claims,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Delete" },
    };
    await s.apply(statefulSet("s", 3, { behave: "never", spec }));
    await s.settle();
    await s.apply(statefulSet("s", 1, { behave: "never", spec }));
    await s.settle();
    await s.shot("one");
    await s.remove("StatefulSet", "s");
    await s.settle();
    await s.shot("gone");
  }),
  scenario("StatefulSet: orphans its pods and adopts them again", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.remove("StatefulSet", "s", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("alone");
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.shot("together");
  }),
  scenario("StatefulSet: Parallel, rolled out and scaled", async (s) => {
    const spec = { podManagementPolicy: "Parallel" };
    await s.apply(statefulSet("s", 3, { spec }));
    await s.settle();
    await s.apply(statefulSet("s", 4, { spec, image: "example/app:2" }));
    await s.settle();
    await s.shot("four");
    await s.apply(statefulSet("s", 1, { spec, image: "example/app:2" }));
    await s.settle();
    await s.shot("one");
  }),
  scenario("StatefulSet: a pod fails", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.patch("Pod", "s-0", { metadata: { labels: { behave: "fail" } } });
    await s.settle();
    await s.shot("again");
  }),
  scenario("StatefulSet: scaled down past a pod that is not ready", async (s) => {
    await s.apply(statefulSet("s", 3));
    await s.settle();
    await s.patch("Pod", "s-0", { metadata: { labels: { behave: "never" } } });
    await s.settle();
    await s.apply(statefulSet("s", 1));
    await s.settle();
    await s.shot("waits");
  }),
  scenario("StatefulSet: scaled to zero and back", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { volumeClaimTemplates: claims } }));
    await s.settle();
    await s.apply(statefulSet("s", 0, { spec: { volumeClaimTemplates: claims } }));
    await s.settle();
    await s.shot("none");
    await s.apply(statefulSet("s", 1, { spec: { volumeClaimTemplates: claims } }));
    await s.settle();
    await s.shot("one");
  }),
  scenario("StatefulSet: the partition is lowered step by step", async (s) => {
    const o = (partition, image) => ({
      image,
      spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } } },
    });
    await s.apply(statefulSet("s", 3, o(3, "example/app:1")));
    await s.settle();
    await s.apply(statefulSet("s", 3, o(3, "example/app:2")));
    await s.settle();
    await s.shot("none");
    await s.apply(statefulSet("s", 3, o(1, "example/app:2")));
    await s.settle();
    await s.shot("two");
    await s.apply(statefulSet("s", 3, o(0, "example/app:2")));
    await s.settle();
    await s.shot("all");
  }),
  scenario("StatefulSet: deleted in the foreground", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.remove("StatefulSet", "s", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("StatefulSet: a foreign pod has the name of one of its pods", async (s) => {
    await s.create(pod("s-0", { labels: { app: "other" } }));
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.shot("blocked");
    await s.remove("Pod", "s-0");
    await s.settle();
    await s.shot("free");
  }),
  scenario("StatefulSet: the claim retention policy changes", async (s) => {
    const o = (whenDeleted, whenScaled) => ({
      spec: {
        volumeClaimTemplates: claims,
        persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
      },
    });
    await s.apply(statefulSet("s", 2, o("Delete", "Retain")));
    await s.settle();
    await s.shot("owned by the set");
    await s.apply(statefulSet("s", 2, o("Retain", "Retain")));
    await s.settle();
    await s.shot("owned by nobody");
  }),
  scenario("StatefulSet: scaled during a rollout", async (s) => {
    await s.apply(statefulSet("s", 3));
    await s.settle();
    await s.apply(statefulSet("s", 4, v2));
    await s.settle();
    await s.shot("four");
    await s.apply(statefulSet("s", 2, { image: "example/app:3" }));
    await s.settle();
    await s.shot("two");
  }),
  scenario("StatefulSet: slow pods come up", async (s) => {
    await s.apply(statefulSet("s", 2, { behave: "slow" }));
    await s.settle(4000);
    await s.shot("up");
  }),
  scenario("StatefulSet: Parallel, a rollout of slow pods", async (s) => {
    const spec = { podManagementPolicy: "Parallel" };
    await s.apply(statefulSet("s", 3, { behave: "slow", spec }));
    await s.settle(3000);
    await s.apply(statefulSet("s", 3, { ...v2, behave: "slow", spec }));
    await s.settle(4000);
    await s.shot("rolled");
  }),
  scenario("StatefulSet: claims stay when it is scaled down and go when it is deleted", async (s) => {
    const spec = {
      podManagementPolicy: "Parallel",
      volumeClaimTemplates: claims,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
    };
    await s.apply(statefulSet("s", 2, { behave: "never", spec }));
    await s.settle();
    await s.apply(statefulSet("s", 1, { behave: "never", spec }));
    await s.settle();
    await s.shot("two claims");
    await s.remove("StatefulSet", "s");
    await s.settle();
    await s.shot("after");
  }),
  scenario("StatefulSet: a pod deleted on each side of the partition", async (s) => {
    const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } };
    await s.apply(statefulSet("s", 3, { spec }));
    await s.settle();
    await s.apply(statefulSet("s", 3, { ...v2, spec }));
    await s.settle();
    await s.remove("Pod", "s-0");
    await s.settle();
    await s.remove("Pod", "s-2");
    await s.settle();
    await s.shot("one old, two new");
  }),
  scenario("StatefulSet: deleted with orphans", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.remove("StatefulSet", "s", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("pods alone");
  }),
  scenario("StatefulSet: Parallel with maxUnavailable 2", async (s) => {
    const spec = {
      podManagementPolicy: "Parallel",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } },
    };
    await s.apply(statefulSet("s", 4, { spec }));
    await s.settle();
    await s.apply(statefulSet("s", 4, { ...v2, behave: "never", spec }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("StatefulSet: ordered with maxUnavailable 50 %", async (s) => {
    const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "50%" } } };
    await s.apply(statefulSet("s", 4, { spec }));
    await s.settle();
    await s.apply(statefulSet("s", 4, { ...v2, behave: "never", spec }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("StatefulSet: a rollout with minReadySeconds", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { minReadySeconds: 2 } }));
    await s.settle(4000);
    await s.apply(statefulSet("s", 2, { ...v2, spec: { minReadySeconds: 2 } }));
    await s.settle(4000);
    await s.shot("rolled");
  }),
  scenario("StatefulSet: the start of its ordinals changes", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.apply(statefulSet("s", 2, { spec: { ordinals: { start: 1 } } }));
    await s.settle();
    await s.shot("one and two");
    await s.apply(statefulSet("s", 2, { spec: { ordinals: { start: 5 } } }));
    await s.settle();
    await s.shot("five and six");
  }),
  scenario("StatefulSet: claims go when it is scaled down and are created again when it grows", async (s) => {
    const spec = {
      podManagementPolicy: "Parallel",
      volumeClaimTemplates: claims,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Delete" },
    };
    await s.apply(statefulSet("s", 3, { behave: "never", spec }));
    await s.settle();
    await s.apply(statefulSet("s", 1, { behave: "never", spec }));
    await s.settle();
    await s.shot("one claim");
    await s.apply(statefulSet("s", 2, { behave: "never", spec }));
    await s.settle();
    await s.shot("two claims");
    await s.remove("StatefulSet", "s");
    await s.settle();
    await s.shot("claims stay");
  }),
  scenario("StatefulSet: a partition beyond the last ordinal", async (s) => {
    const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 7 } } };
    await s.apply(statefulSet("s", 2, { spec }));
    await s.settle();
    await s.apply(statefulSet("s", 3, { ...v2, spec }));
    await s.settle();
    await s.shot("all old");
  }),
  scenario("StatefulSet: revisionHistoryLimit 0", async (s) => {
    for (const v of [1, 2, 3]) {
      await s.apply(statefulSet("s", 1, { image: `example/app:${v}`, spec: { revisionHistoryLimit: 0 } }));
      await s.settle();
    }
    await s.shot("one revision");
  }),
  scenario("StatefulSet: a stuck rollout is rolled back", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.apply(statefulSet("s", 2, { ...v2, behave: "never" }));
    await s.settle();
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.shot("back");
    await s.remove("Pod", "s-1");
    await s.settle();
    await s.shot("by hand");
  }),
  scenario("StatefulSet: OnDelete becomes RollingUpdate", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { updateStrategy: { type: "OnDelete" } } }));
    await s.settle();
    await s.apply(statefulSet("s", 2, { ...v2, spec: { updateStrategy: { type: "OnDelete" } } }));
    await s.settle();
    await s.shot("old");
    await s.apply(statefulSet("s", 2, { ...v2, spec: { updateStrategy: { type: "RollingUpdate" } } }));
    await s.settle();
    await s.shot("new");
  }),
  scenario("StatefulSet: a claim is deleted while its pod runs", async (s) => {
    await s.apply(statefulSet("s", 1, { behave: "never", spec: { volumeClaimTemplates: claims } }));
    await s.settle();
    await s.remove("PersistentVolumeClaim", "data-s-0");
    await s.settle();
    await s.shot("claim");
    await s.remove("Pod", "s-0");
    await s.settle(3000);
    await s.shot("both anew");
  }),
];
