import {
  claims,
  daemonSet,
  deployment,
  job,
  pod,
  replicaSet,
  scenario,
  service,
  statefulSet,
} from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { evict, pdb, quota, v2 } from "./_objects.mjs";

const rolling = (maxSurge, maxUnavailable) => ({
  strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
});
const cm = (name, owners = [], extra = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ownerReferences: owners, ...extra },
});
const ref = (o, extra = {}) => ({
  apiVersion: o.apiVersion ?? "v1",
  kind: o.kind ?? "ConfigMap",
  name: o.metadata.name,
  uid: o.metadata.uid,
  ...extra,
});
const claim = (name, spec = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
});
const finish = (s, name, body) =>
  s.call(
    "PATCH",
    `${s.pathOf("Pod", s.ns, name)}/status`,
    { status: body },
    "application/strategic-merge-patch+json",
  );
/** What snapshots do not show is written where they do: in an annotation. */
const note = (s, name, value) =>
  s.create(cm(`note-${name}`, [], { annotations: { value: JSON.stringify(value) } }));
const noteScheduling = async (s, name) => {
  const all = await s.pods();
  const said = all
    .flatMap((p) => p.status.conditions?.filter((c) => c.type === "PodScheduled") ?? [])
    .map((c) => `${c.status} ${c.reason ?? ""} ${c.message ?? ""}`);
  await note(s, name, said.sort());
};

export default [
  scenario("a quarter more and a quarter less of ten, stuck", async (s) => {
    await s.apply(deployment("d", 10, { spec: rolling("25%", "25%") }));
    await s.settle();
    await s.apply(deployment("d", 10, { ...v2, behave: "never", spec: rolling("25%", "25%") }));
    await s.settle();
    await s.shot("stuck");
    await s.apply(deployment("d", 15, { ...v2, behave: "never", spec: rolling("25%", "25%") }));
    await s.settle();
    await s.shot("fifteen");
    await s.apply(deployment("d", 5, { ...v2, behave: "never", spec: rolling("25%", "25%") }));
    await s.settle();
    await s.shot("five");
  }),
  scenario("all new before any old goes", async (s) => {
    await s.apply(deployment("d", 3, { spec: rolling("100%", 0) }));
    await s.settle();
    await s.apply(deployment("d", 3, { ...v2, behave: "never", spec: rolling("100%", 0) }));
    await s.settle();
    await s.shot("twice as many");
    await s.apply(deployment("d", 3, { ...v2, spec: rolling("100%", 0) }));
    await s.settle();
    await s.shot("mended");
  }),
  scenario("three templates at once, scaled in proportion", async (s) => {
    await s.apply(deployment("d", 6, { spec: rolling(2, 2) }));
    await s.settle();
    await s.apply(deployment("d", 6, { ...v2, behave: "never", spec: rolling(2, 2) }));
    await s.settle();
    await s.apply(deployment("d", 6, { image: "example/app:3", behave: "never", spec: rolling(2, 2) }));
    await s.settle();
    await s.shot("three");
    await s.apply(deployment("d", 12, { image: "example/app:3", behave: "never", spec: rolling(2, 2) }));
    await s.settle();
    await s.shot("doubled");
  }),
  scenario("paused, changed and scaled, then resumed without surge", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.apply(deployment("d", 4, { ...v2, spec: { paused: true, ...rolling(0, 1) } }));
    await s.settle();
    await s.shot("four old ones");
    await s.apply(deployment("d", 3, { ...v2, spec: { paused: false, ...rolling(0, 1) } }));
    await s.settle();
    await s.shot("three new ones");
  }),
  scenario("causes of changes are kept with revisions, back and forth", async (s) => {
    const because = (text, o) => {
      const d = deployment("d", 1, o);
      return { ...d, metadata: { ...d.metadata, annotations: { "kubernetes.io/change-cause": text } } };
    };
    for (const [text, o] of [
      ["first", {}],
      ["second", v2],
      ["first again", {}],
      ["second again", v2],
    ]) {
      await s.apply(because(text, o));
      await s.settle();
    }
    await s.shot("four revisions in two sets");
  }),
  scenario("a pod leaves its deployment by its label", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { app: "elsewhere" } } });
    await s.settle();
    await s.shot("three pods");
    await s.remove("Deployment", "d");
    await s.settle();
    await s.shot("one pod is left");
  }),
  scenario("history is cut when the limit is lowered", async (s) => {
    for (const v of [1, 2, 3]) {
      await s.apply(deployment("d", 1, { image: `example/app:${v}` }));
      await s.settle();
    }
    await s.apply(deployment("d", 1, { image: "example/app:3", spec: { revisionHistoryLimit: 0 } }));
    await s.settle();
    await s.shot("one set");
  }),
  scenario("recreate waits for a pod that does not go", async (s) => {
    const recreate = { strategy: { type: "Recreate" } };
    await s.apply(deployment("d", 1, { spec: recreate }));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: ["example.com/hold"] } });
    await s.apply(deployment("d", 1, { ...v2, spec: recreate }));
    await s.settle();
    await s.shot("waits");
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: null } });
    await s.settle();
    await s.shot("goes on");
  }),
  scenario("deployment in the foreground with a pod that does not go", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: ["example.com/hold"] } });
    await s.remove("Deployment", "d", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("held");
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: null } });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("a replica set is scaled by hand below its deployment", async (s) => {
    await s.apply(deployment("d", 3));
    await s.settle();
    const sets = (await s.call("GET", s.pathOf("ReplicaSet", s.ns))).body.items;
    await s.patch("ReplicaSet", sets[0].metadata.name, { spec: { replicas: 1 } });
    await s.settle();
    await s.shot("three again");
  }),
  scenario("a deployment takes longer than its deadline and is scaled", async (s) => {
    await s.apply(deployment("d", 2, { behave: "never", spec: { progressDeadlineSeconds: 2 } }));
    await s.settle(4000);
    await s.apply(deployment("d", 3, { behave: "never", spec: { progressDeadlineSeconds: 2 } }));
    await s.settle(4000);
    await s.shot("late");
    await s.apply(deployment("d", 0, { behave: "never", spec: { progressDeadlineSeconds: 2 } }));
    await s.settle(3000);
    await s.shot("none");
  }),

  scenario("parallel set with two unavailable at most", async (s) => {
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
  scenario("ordered set with half of it unavailable at most", async (s) => {
    const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "50%" } } };
    await s.apply(statefulSet("s", 4, { spec }));
    await s.settle();
    await s.apply(statefulSet("s", 4, { ...v2, behave: "never", spec }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("set with minReadySeconds rolls", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { minReadySeconds: 2 } }));
    await s.settle(4000);
    await s.apply(statefulSet("s", 2, { ...v2, spec: { minReadySeconds: 2 } }));
    await s.settle(4000);
    await s.shot("rolled");
  }),
  scenario("set moves its first number", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.apply(statefulSet("s", 2, { spec: { ordinals: { start: 1 } } }));
    await s.settle();
    await s.shot("one and two");
    await s.apply(statefulSet("s", 2, { spec: { ordinals: { start: 5 } } }));
    await s.settle();
    await s.shot("five and six");
  }),
  scenario("claims go when it shrinks and come anew when it grows", async (s) => {
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
  scenario("partition beyond the last", async (s) => {
    const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 7 } } };
    await s.apply(statefulSet("s", 2, { spec }));
    await s.settle();
    await s.apply(statefulSet("s", 3, { ...v2, spec }));
    await s.settle();
    await s.shot("all old");
  }),
  scenario("set without history", async (s) => {
    for (const v of [1, 2, 3]) {
      await s.apply(statefulSet("s", 1, { image: `example/app:${v}`, spec: { revisionHistoryLimit: 0 } }));
      await s.settle();
    }
    await s.shot("one revision");
  }),
  scenario("a stuck set is mended by its old template", async (s) => {
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
  scenario("on delete becomes rolling", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { updateStrategy: { type: "OnDelete" } } }));
    await s.settle();
    await s.apply(statefulSet("s", 2, { ...v2, spec: { updateStrategy: { type: "OnDelete" } } }));
    await s.settle();
    await s.shot("old");
    await s.apply(statefulSet("s", 2, { ...v2, spec: { updateStrategy: { type: "RollingUpdate" } } }));
    await s.settle();
    await s.shot("new");
  }),
  scenario("a claim of a set is deleted while its pod runs", async (s) => {
    await s.apply(statefulSet("s", 1, { behave: "never", spec: { volumeClaimTemplates: claims } }));
    await s.settle();
    await s.remove("PersistentVolumeClaim", "data-s-0");
    await s.settle();
    await s.shot("claim");
    await s.remove("Pod", "s-0");
    await s.settle(3000);
    await s.shot("both anew");
  }),

  scenario("indexed job suspended half way", async (s) => {
    const spec = { completions: 4, parallelism: 2, completionMode: "Indexed" };
    await s.apply(job("j", { behave: "never", spec }));
    await s.settle();
    const [p] = (await s.pods()).sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    await finish(s, p.metadata.name, { phase: "Succeeded" });
    await s.apply(job("j", { behave: "never", spec: { ...spec, suspend: true } }));
    await s.settle(3000);
    await s.shot("suspended");
    await s.apply(job("j", { behave: "never", spec: { ...spec, suspend: false } }));
    await s.settle(3000);
    await s.shot("resumed");
  }),
  scenario("job waits for a terminating pod to end before it replaces it", async (s) => {
    const spec = { podReplacementPolicy: "Failed" };
    await s.apply(job("j", { behave: "never", spec }));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, {
      metadata: { finalizers: [...p.metadata.finalizers, "example.com/hold"] },
    });
    await s.remove("Pod", p.metadata.name);
    await s.settle(3000);
    await s.shot("waits");
  }),
  scenario("job replaces a terminating pod at once", async (s) => {
    await s.apply(job("j", { behave: "never" }));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, {
      metadata: { finalizers: [...p.metadata.finalizers, "example.com/hold"] },
    });
    await s.remove("Pod", p.metadata.name);
    await s.settle(12_000);
    await s.shot("two");
    const names = (await s.pods()).map(({ metadata }) => metadata.name);
    for (const name of names) await s.patch("Pod", name, { metadata: { finalizers: null } });
    await s.settle(12_000);
    await s.shot("one");
  }),
  scenario("job succeeds with some of its indexes", async (s) => {
    const spec = {
      completions: 4,
      parallelism: 4,
      completionMode: "Indexed",
      successPolicy: { rules: [{ succeededIndexes: "1-2", succeededCount: 1 }] },
    };
    await s.apply(job("j", { behave: "never", spec }));
    await s.settle();
    const index = (p) => p.metadata.annotations["batch.kubernetes.io/job-completion-index"];
    const second = (await s.pods()).find((p) => index(p) === "2");
    await finish(s, second.metadata.name, { phase: "Succeeded" });
    await s.settle(4000);
    await s.shot("enough");
  }),
  scenario("no index may fail", async (s) => {
    const spec = {
      completions: 3,
      parallelism: 1,
      completionMode: "Indexed",
      backoffLimitPerIndex: 0,
      maxFailedIndexes: 0,
    };
    await s.apply(job("j", { behave: "fail", spec }));
    await s.settle(4000);
    await s.shot("one was enough");
  }),
  scenario("job whose pods restart by themselves", async (s) => {
    const j = job("j", { behave: "never", spec: { backoffLimit: 1 } });
    j.spec.template.spec.restartPolicy = "OnFailure";
    await s.apply(j);
    await s.settle();
    const [p] = await s.pods();
    await finish(s, p.metadata.name, {
      phase: "Running",
      containerStatuses: [
        {
          name: "main",
          image: "example/app:1",
          imageID: "",
          ready: false,
          restartCount: 3,
          state: { waiting: { reason: "CrashLoopBackOff" } },
        },
      ],
    });
    await s.settle(4000);
    await s.shot("restarted too often");
  }),
  scenario("more at once than are wanted", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { completions: 2, parallelism: 5 } }));
    await s.settle();
    await s.shot("two");
  }),
  scenario("a disrupted pod of a job is not counted", async (s) => {
    const rules = [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }];
    await s.apply(job("j", { behave: "never", spec: { backoffLimit: 0, podFailurePolicy: { rules } } }));
    await s.settle();
    const [p] = await s.pods();
    await finish(s, p.metadata.name, {
      phase: "Failed",
      conditions: [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }],
    });
    await s.settle(4000);
    await s.shot("another try");
  }),
  scenario("job cleaned up at once", async (s) => {
    await s.apply(job("j", { spec: { ttlSecondsAfterFinished: 0 } }));
    await s.settle(4000);
    await s.shot("nothing");
  }),
  scenario("the others are ended when a job fails", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { completions: 3, parallelism: 3, backoffLimit: 0 } }));
    await s.settle();
    const [p] = await s.pods();
    await finish(s, p.metadata.name, { phase: "Failed" });
    await s.settle(4000);
    await s.shot("failed");
  }),
  scenario("job deleted orphaning, its pods forgotten", async (s) => {
    await s.apply(job("j", { behave: "never" }));
    await s.settle();
    await s.remove("Job", "j", { propagationPolicy: "Orphan" });
    await s.settle(4000);
    await s.shot("pod alone");
  }),
  scenario("job that is given more time", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { activeDeadlineSeconds: 3 } }));
    await s.settle(1000);
    await s.apply(job("j", { behave: "never", spec: { activeDeadlineSeconds: 60 } }));
    await s.settle(5000);
    await s.shot("runs");
  }),

  scenario("daemon set surges and is stuck", async (s) => {
    const spec = {
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    };
    await s.apply(daemonSet("d", { spec }));
    await s.settle();
    await s.apply(daemonSet("d", { ...v2, behave: "never", spec }));
    await s.settle();
    await s.shot("one more");
    await s.apply(daemonSet("d", { spec }));
    await s.settle();
    await s.shot("back");
  }),
  scenario("daemon set moves to other nodes while it runs", async (s) => {
    await s.apply(daemonSet("d", { node: { zone: "a" } }));
    await s.settle();
    await s.apply(daemonSet("d", { node: { zone: "b" } }));
    await s.settle();
    await s.shot("moved");
  }),
  scenario("daemon set with minReadySeconds", async (s) => {
    await s.apply(daemonSet("d", { node: { zone: "b" }, spec: { minReadySeconds: 2 } }));
    await s.settle(1000);
    await s.settle(4000);
    await s.shot("available");
  }),
  scenario("daemon set beside a taint, with and without toleration", async (s) => {
    const taint = (taints) =>
      s.call("PATCH", "/api/v1/nodes/play-3", { spec: { taints } }, "application/merge-patch+json");
    await taint([{ key: "example.com/own", value: s.ns, effect: "NoSchedule" }]);
    try {
      await s.apply(daemonSet("d"));
      const tolerations = [{ key: "example.com/own", operator: "Exists" }];
      await s.apply(daemonSet("e", { pod: { tolerations } }));
      await s.settle();
      await s.shot("two and three");
    } finally {
      await taint(null);
    }
    await s.settle();
    await s.shot("three and three");
  }),

  scenario("budgets of nothing and of everything", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const selector = { matchLabels: { app: "d" } };
    await s.apply(pdb("a", { minAvailable: "100%", selector }));
    await s.settle();
    await s.shot("all must stay");
    await s.apply(pdb("a", { minAvailable: "0%", selector }));
    await s.settle();
    await s.shot("all may go");
    await s.remove("PodDisruptionBudget", "a");
    await s.apply(pdb("b", { maxUnavailable: 0, selector: {} }));
    await s.settle();
    await s.shot("of all pods none may go");
  }),
  scenario("an unhealthy pod is evicted only from a healthy budget", async (s) => {
    await s.apply(deployment("d", 2, { behave: "never" }));
    await s.settle();
    const selector = { matchLabels: { app: "d" } };
    await s.apply(pdb("b", { minAvailable: 1, unhealthyPodEvictionPolicy: "IfHealthyBudget", selector }));
    await s.settle();
    const [p] = await s.pods();
    const { status, body } = await evict(s, p.metadata.name);
    await note(s, "eviction", [status, body.message, body.details?.causes]);
    await s.settle();
    await s.shot("refused");
  }),
  scenario("an eviction on trial, and one of a pod that has ended", async (s) => {
    await s.apply(deployment("d", 1));
    await s.create(pod("p", { behave: "succeed" }));
    await s.settle();
    await s.apply(pdb("b", { minAvailable: 1, selector: {} }));
    await s.settle();
    const [d] = (await s.pods()).filter((p) => p.metadata.generateName);
    const tried = await evict(s, d.metadata.name, { deleteOptions: { dryRun: ["All"] } });
    const ended = await evict(s, "p");
    await note(s, "evictions", [tried.status, tried.body.message, ended.status]);
    await s.settle();
    await s.shot("after");
  }),

  scenario("a pod that does not name the port", async (s) => {
    const ports = (containerPort) => ({
      pod: { containers: [{ name: "main", image: "x", ports: [{ containerPort, name: "web" }] }] },
    });
    await s.apply(service("d"));
    await s.create(pod("one", { labels: { app: "d" }, ...ports(8080) }));
    await s.create(
      pod("three", { labels: { app: "d" }, pod: { containers: [{ name: "main", image: "x" }] } }),
    );
    await s.settle();
    await s.shot("one of two");
  }),
  scenario("one number, two protocols", async (s) => {
    const ports = [
      { name: "dns", port: 53, targetPort: 5353, protocol: "UDP" },
      { name: "dns-tcp", port: 53, targetPort: 5353, protocol: "TCP" },
      { name: "http", port: 80, targetPort: 8080, appProtocol: "kubernetes.io/h2c" },
    ];
    await s.apply(service("d", { ports }));
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.shot("three ports");
  }),
  scenario("a pod on its way out still serves", async (s) => {
    await s.apply(service("d"));
    await s.apply(service("d", {}));
    await s.apply(deployment("d", 1));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: ["example.com/hold"] } });
    await s.remove("Pod", p.metadata.name);
    await s.settle();
    await s.shot("one of two");
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: null } });
    await s.settle();
    await s.shot("one");
  }),
  scenario("pods that have ended are no endpoints", async (s) => {
    await s.apply(service("p", { publishNotReadyAddresses: true }));
    await s.create(pod("p", { behave: "succeed" }));
    await s.create(pod("q", { behave: "fail", labels: { app: "p" } }));
    await s.create(pod("r", { labels: { app: "p" }, node: { zone: "nowhere" } }));
    await s.settle();
    await s.shot("none");
  }),
  scenario("names of pods in a headless service", async (s) => {
    await s.apply(service("p", { clusterIP: "None" }));
    await s.create(pod("p", { pod: { hostname: "first", subdomain: "p" } }));
    await s.create(pod("q", { labels: { app: "p" }, pod: { hostname: "second", subdomain: "other" } }));
    await s.settle();
    await s.shot("one name");
  }),
  scenario("service of kind node port loses its selector", async (s) => {
    await s.apply(service("d", { type: "NodePort", internalTrafficPolicy: "Local" }));
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.shot("with");
    await s.call(
      "PATCH",
      s.pathOf("Service", s.ns, "d"),
      { spec: { selector: null } },
      "application/merge-patch+json",
    );
    await s.settle();
    await s.shot("without");
    await s.remove("Service", "d");
    await s.settle();
    await s.shot("gone");
  }),
  scenario("a service that becomes a name of another", async (s) => {
    await s.apply(service("d"));
    await s.apply(deployment("d", 1));
    await s.settle();
    const spec = { type: "ExternalName", externalName: "example.com", clusterIP: null, clusterIPs: null };
    await s.call("PATCH", s.pathOf("Service", s.ns, "d"), { spec }, "application/merge-patch+json");
    await s.settle();
    await s.shot("external");
  }),

  scenario("owner by another name, kind and namespace", async (s) => {
    const a = await s.create(cm("a"));
    await s.create(cm("name", [{ ...ref(a), name: "other" }]));
    await s.create(cm("kind", [{ ...ref(a), kind: "Secret" }]));
    const system = (await s.call("GET", "/api/v1/namespaces/kube-system")).body;
    await s.create(cm("cluster", [ref(system, { kind: "Namespace" })]));
    const other = (await s.call("GET", "/api/v1/namespaces/kube-system/serviceaccounts/default")).body;
    await s.create(cm("elsewhere", [ref(other, { kind: "ServiceAccount" })]));
    await s.settle(4000);
    await s.shot("what is left");
  }),
  scenario("foreground does not wait for children that do not block", async (s) => {
    const a = await s.create(cm("a"));
    await s.create(cm("b", [ref(a, { blockOwnerDeletion: false })], { finalizers: ["example.com/hold"] }));
    await s.create(cm("c", [ref(a)]));
    await s.remove("ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(3000);
    await s.shot("b held, a gone");
    await s.patch("ConfigMap", "b", { metadata: { finalizers: null } });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("an owner that is held keeps its children", async (s) => {
    const a = await s.create(cm("a", [], { finalizers: ["example.com/hold"] }));
    await s.create(cm("b", [ref(a)]));
    await s.remove("ConfigMap", "a", { propagationPolicy: "Background" });
    await s.settle(3000);
    await s.shot("both");
    await s.create(cm("late", [ref(a)]));
    await s.settle();
    await s.patch("ConfigMap", "a", { metadata: { finalizers: null } });
    await s.settle(3000);
    await s.shot("none");
  }),
  scenario("a child that comes after its owner has gone", async (s) => {
    const a = await s.create(cm("a"));
    await s.remove("ConfigMap", "a");
    await s.create(cm("b", [ref(a)]));
    await s.create(cm("c", [ref(a, { controller: true })], { finalizers: ["example.com/hold"] }));
    await s.settle(3000);
    await s.shot("c is held");
    await s.patch("ConfigMap", "c", { metadata: { finalizers: null } });
    await s.settle();
    await s.shot("none");
  }),

  scenario("quota by quality of service and lifetime", async (s) => {
    await s.apply(quota("best", { hard: { pods: "5" }, scopes: ["BestEffort"] }));
    await s.apply(quota("rest", { hard: { pods: "5", "requests.cpu": "2" }, scopes: ["NotBestEffort"] }));
    await s.apply(quota("short", { hard: { pods: "5" }, scopes: ["Terminating"] }));
    await s.apply(quota("long", { hard: { pods: "5" }, scopes: ["NotTerminating"] }));
    await s.settle();
    const cpu = { containers: [{ name: "main", image: "x", resources: { requests: { cpu: "500m" } } }] };
    await s.create(pod("a"));
    await s.create(pod("b", { pod: cpu }));
    await s.create(pod("c", { pod: { ...cpu, activeDeadlineSeconds: 600 } }));
    await s.settle(4000);
    await s.shot("counted");
    await s.remove("Pod", "b");
    await s.settle(4000);
    await s.shot("one less");
  }),
  scenario("quota by priority, and a pod that has ended", async (s) => {
    const system = {
      scopeSelector: {
        matchExpressions: [
          { scopeName: "PriorityClass", operator: "In", values: ["system-cluster-critical", "none"] },
        ],
      },
    };
    await s.apply(quota("critical", { hard: { pods: "2" }, ...system }));
    await s.apply(quota("all", { hard: { pods: "9", "count/pods": "9" } }));
    await s.settle();
    await s.create(pod("a", { behave: "succeed" }));
    await s.create(pod("b"));
    await s.settle(4000);
    await s.shot("one of two counts");
  }),
  scenario("quota of services, claims and workloads", async (s) => {
    const hard = {
      "services.nodeports": "1",
      "count/deployments.apps": "2",
      "count/jobs.batch": "2",
      "requests.storage": "5Gi",
      "manual.storageclass.storage.k8s.io/requests.storage": "2Gi",
      persistentvolumeclaims: "3",
    };
    await s.apply(quota("q", { hard }));
    await s.settle();
    await s.apply(service("n", { type: "NodePort" }));
    await s.apply(deployment("d", 0));
    await s.apply(job("j"));
    await s.create(claim("c", { storageClassName: "manual" }));
    await s.settle(5000);
    await s.shot("counted");
    const { status, body } = await s.call(
      "POST",
      s.pathOf("PersistentVolumeClaim", s.ns),
      claim("d", {
        storageClassName: "manual",
        resources: { requests: { storage: "1500Mi" } },
      }),
    );
    await note(s, "refusal", [status, body.message]);
    await s.shot("refused");
  }),

  scenario("why pods are not scheduled", async (s) => {
    const taint = (taints) =>
      s.call("PATCH", "/api/v1/nodes/play-2", { spec: { taints } }, "application/merge-patch+json");
    await taint([{ key: "example.com/why", value: "x", effect: "NoSchedule" }]);
    const needs = (requests) => ({ containers: [{ name: "main", image: "x", resources: { requests } }] });
    const hostPort = {
      containers: [{ name: "main", image: "x", ports: [{ containerPort: 80, hostPort: 80 }] }],
    };
    const zone = (operator, values) => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator, values }] }],
          },
        },
      },
    });
    try {
      await s.create(pod("a", { pod: needs({ cpu: "9", memory: "20Gi" }) }));
      await s.create(pod("b", { pod: zone("In", ["c"]) }));
      await s.create(pod("c", { node: { zone: "a" }, pod: needs({ cpu: "9" }) }));
      const device = { "example.com/device": "1" };
      const limited = { containers: [{ name: "main", image: "x", resources: { limits: device } }] };
      await s.create(pod("d", { pod: limited }));
      await s.create(pod("e", { pod: needs({ "ephemeral-storage": "1Ti" }) }));
      for (const name of ["f", "g", "h"]) await s.create(pod(name, { pod: hostPort }));
      await s.settle(3000);
      await noteScheduling(s, "why");
      await s.shot("pending");
    } finally {
      await taint(null);
    }
  }),
  scenario("why pods are not together or apart", async (s) => {
    const term = (app) => ({
      topologyKey: "kubernetes.io/hostname",
      labelSelector: { matchLabels: { app } },
    });
    const required = (kind, app) => ({
      affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term(app)] } },
    });
    const spread = (o) => ({
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "nothing-has-it",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { app: "x" } },
          ...o,
        },
      ],
    });
    await s.create(pod("a", { pod: required("podAffinity", "nobody") }));
    for (const name of ["b", "c", "d", "e"])
      await s.create(pod(name, { labels: { app: "lonely" }, pod: required("podAntiAffinity", "lonely") }));
    await s.create(pod("f", { labels: { app: "x" }, pod: spread({}) }));
    await s.create(pod("g", { labels: { app: "y" }, pod: spread({ topologyKey: "zone", minDomains: 5 }) }));
    await s.create(pod("h", { labels: { app: "x" }, pod: spread({ whenUnsatisfiable: "ScheduleAnyway" }) }));
    await s.settle(3000);
    await noteScheduling(s, "why");
    await s.shot("pending");
  }),
  scenario("why pods wait for volumes", async (s) => {
    const mount = (claimName) => ({ volumes: [{ name: "v", persistentVolumeClaim: { claimName } }] });
    const with_ = (claimName) => ({ pod: { ...pod("x").spec, ...mount(claimName) } });
    await s.create(claim("unbound", { storageClassName: "manual" }));
    await s.create(claim("classless", { storageClassName: "" }));
    await s.create(pod("a", with_("missing")));
    await s.create(pod("b", with_("unbound")));
    await s.create(pod("c", with_("classless")));
    await s.settle(3000);
    await noteScheduling(s, "why");
    await s.shot("pending");
    await s.remove("PersistentVolumeClaim", "unbound");
    await s.settle(3000);
    await s.shot("protected or not");
  }),
  scenario("volumes are bound, chosen by the pod's node, released and kept", async (s) => {
    const pv = (name, spec) => ({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: `${s.ns}-${name}` },
      spec: {
        capacity: { storage: "2Gi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: "/nowhere" },
        persistentVolumeReclaimPolicy: "Retain",
        ...spec,
      },
    });
    const on = (node) => ({
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] },
          ],
        },
      },
    });
    const base = "/apis/storage.k8s.io/v1/storageclasses";
    const late = `${s.ns}-late`;
    await s.call("POST", base, {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: late },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    const volumes = ["now", "late"];
    try {
      await s.call("POST", "/api/v1/persistentvolumes", pv("now", { storageClassName: s.ns }));
      await s.call(
        "POST",
        "/api/v1/persistentvolumes",
        pv("late", { storageClassName: late, ...on("play-2") }),
      );
      await s.create(claim("now", { storageClassName: s.ns }));
      await s.create(claim("late", { storageClassName: late }));
      await s.settle(3000);
      const phases = async () => {
        const out = [];
        for (const name of volumes) {
          const { body } = await s.call("GET", `/api/v1/persistentvolumes/${s.ns}-${name}`);
          out.push([name, body.status?.phase, body.spec?.claimRef?.name, body.metadata?.finalizers]);
        }
        return out;
      };
      await note(s, "before", await phases());
      await s.shot("one bound");
      const mount = { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "late" } }] };
      await s.create(pod("p", { pod: mount }));
      await s.settle(3000);
      await note(s, "bound", await phases());
      const [p] = await s.pods();
      await note(s, "node", p.spec.nodeName);
      await s.shot("both bound");
      await s.remove("Pod", "p");
      await s.settle();
      for (const name of volumes) await s.remove("PersistentVolumeClaim", name);
      await s.settle(3000);
      await note(s, "after", await phases());
      await s.shot("released");
    } finally {
      for (const name of volumes) await s.call("DELETE", `/api/v1/persistentvolumes/${s.ns}-${name}`);
      await s.call("DELETE", `${base}/${late}`);
    }
  }),
  scenario("a pod that is told its node, and one that asks for another scheduler", async (s) => {
    await s.create(pod("a", { pod: { nodeName: "play-2" } }));
    await s.create(pod("b", { pod: { schedulerName: "other" } }));
    await s.settle();
    await s.shot("one runs");
  }),
  scenario("a more important pod takes the place of others", async (s) => {
    const half = { containers: [{ name: "main", image: "x", resources: { requests: { cpu: "5" } } }] };
    const path = "/apis/scheduling.k8s.io/v1/priorityclasses";
    const important = `${s.ns}-important`;
    await s.call("POST", path, {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name: important },
      value: 1000,
    });
    try {
      await s.apply(replicaSet("r", 3, { pod: half }));
      await s.settle();
      await s.create(pod("p", { pod: { ...half, priorityClassName: important } }));
      await s.settle(4000);
      await noteScheduling(s, "who");
      await s.shot("one of three waits");
    } finally {
      await s.call("DELETE", `${path}/${important}`);
    }
  }),

  scenario("secrets of service accounts, and what comes back when it is deleted", async (s) => {
    const secret = (name, account) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, annotations: { "kubernetes.io/service-account.name": account } },
      type: "kubernetes.io/service-account-token",
    });
    await s.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } });
    await s.create(secret("token", "robot"));
    await s.create(secret("nobody", "ghost"));
    await s.remove("ServiceAccount", "default");
    await s.remove("ConfigMap", "kube-root-ca.crt");
    await s.settle(3000);
    const secrets = (await s.call("GET", s.pathOf("Secret", s.ns))).body.items;
    await note(
      s,
      "secrets",
      secrets.map((each) => [each.metadata.name, Object.keys(each.data ?? {}).sort(), each.metadata.labels]),
    );
    const accounts = (await s.call("GET", s.pathOf("ServiceAccount", s.ns))).body.items;
    await note(s, "accounts", accounts.map((each) => each.metadata.name).sort());
    const root = await s.call("GET", s.pathOf("ConfigMap", s.ns, "kube-root-ca.crt"));
    await note(s, "root", root.status);
    await s.shot("there");
    await s.remove("ServiceAccount", "robot");
    await s.settle(3000);
    const left = (await s.call("GET", s.pathOf("Secret", s.ns))).body.items;
    await note(s, "left", left.map((each) => each.metadata.name).sort());
    await s.shot("token gone");
  }),
  scenario("a namespace that is held tells why", async (s) => {
    const name = `${s.ns}-held`;
    const path = `/api/v1/namespaces/${name}`;
    await s.call("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const held = cm("held", [], { finalizers: ["example.com/hold"] });
    await s.call("POST", `${path}/configmaps`, held);
    await s.call("POST", `${path}/configmaps`, cm("free"));
    await s.call("DELETE", path);
    let body = {};
    for (let i = 0; i < 20 && !body.status?.conditions; i++) {
      await s.sleep(1000);
      body = (await s.call("GET", path)).body;
    }
    const conditions = (body.status.conditions ?? [])
      .map((c) => [c.type, c.status, c.reason, c.message].join(" | "))
      .sort();
    await note(s, "conditions", [body.status.phase, ...conditions]);
    const late = await s.call("POST", `${path}/configmaps`, cm("late"));
    await note(s, "late", [late.status, late.body.message]);
    await s.call(
      "PATCH",
      `${path}/configmaps/held`,
      { metadata: { finalizers: null } },
      "application/merge-patch+json",
    );
    await s.settle(6000);
    await note(s, "gone", (await s.call("GET", path)).status);
    await s.shot("told");
  }),
  scenario("taints follow the conditions of a node", async (s) => {
    const path = `/api/v1/nodes/${s.ns}`;
    const say = (conditions) =>
      s.call("PATCH", `${path}/status`, { status: { conditions } }, "application/strategic-merge-patch+json");
    const condition = (type, status) => ({
      type,
      status,
      reason: "Played",
      message: "played",
      lastHeartbeatTime: new Date().toISOString().replace(/\.\d+Z/, "Z"),
      lastTransitionTime: new Date().toISOString().replace(/\.\d+Z/, "Z"),
    });
    const taints = async () => {
      const { body } = await s.call("GET", path);
      return (body.spec.taints ?? []).map((t) => `${t.key}:${t.effect}`).sort();
    };
    await s.call("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: s.ns } });
    try {
      await s.sleep(2000);
      const seen = [await taints()];
      await say([condition("Ready", "True")]);
      await s.sleep(2000);
      seen.push(await taints());
      await say([condition("MemoryPressure", "True"), condition("DiskPressure", "True")]);
      await s.call("PATCH", path, { spec: { unschedulable: true } }, "application/merge-patch+json");
      await s.sleep(2000);
      seen.push(await taints());
      await say([condition("MemoryPressure", "False"), condition("PIDPressure", "True")]);
      await s.call("PATCH", path, { spec: { unschedulable: false } }, "application/merge-patch+json");
      await s.sleep(2000);
      seen.push(await taints());
      await say([condition("Ready", "False")]);
      await s.sleep(6000);
      seen.push(await taints());
      await note(s, "taints", seen);
      await s.shot("taints");
    } finally {
      await s.call("DELETE", path);
    }
  }),
];
