import {
  deployment,
  pod,
  scenario,
  service,
  statefulSet,
} from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { pdb } from "./_objects.mjs";

const cm = (name, owner, extra = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name,
    ...(owner
      ? {
          ownerReferences: [
            {
              apiVersion: "v1",
              kind: "ConfigMap",
              name: owner.metadata.name,
              uid: owner.metadata.uid,
              ...extra,
            },
          ],
        }
      : {}),
  },
});
export default [
  scenario("service changes its selector", async (s) => {
    await s.apply(service("d"));
    await s.apply(deployment("d", 2));
    await s.apply(deployment("e", 1));
    await s.settle();
    await s.apply(service("d", { selector: { app: "e" } }));
    await s.settle();
    await s.shot("other");
    await s.remove("Service", "d");
    await s.settle();
    await s.shot("no service");
  }),
  scenario("service with several ports", async (s) => {
    await s.apply(
      service("d", {
        ports: [
          { name: "web", port: 80, targetPort: "web" },
          { name: "raw", port: 81, targetPort: 9000 },
          { name: "none", port: 82, targetPort: "nosuch" },
        ],
      }),
    );
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.shot("ports");
  }),
  scenario("headless service without ports", async (s) => {
    await s.apply(service("d", { clusterIP: "None", ports: [] }));
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.shot("no ports");
  }),
  scenario("service with labels", async (s) => {
    const v = service("d");
    v.metadata.labels = { team: "x" };
    await s.apply(v);
    await s.apply(deployment("d", 1));
    await s.settle();
    v.metadata.labels = { team: "y", more: "z" };
    await s.apply(v);
    await s.settle();
    await s.shot("labels");
  }),
  scenario("service without selector", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x" },
      spec: { ports: [{ port: 80 }] },
    });
    await s.create({
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { name: "x" },
      subsets: [
        { addresses: [{ ip: "10.99.1.1" }], notReadyAddresses: [{ ip: "10.99.1.2" }], ports: [{ port: 80 }] },
      ],
    });
    await s.settle();
    await s.shot("mirrored");
    await s.remove("Endpoints", "x");
    await s.settle();
    await s.shot("gone");
  }),
  scenario("scaled to nothing", async (s) => {
    await s.apply(service("d"));
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.apply(deployment("d", 0));
    await s.settle();
    await s.shot("nothing");
  }),
  scenario("budget with percentages and max unavailable", async (s) => {
    await s.apply(deployment("d", 4));
    await s.settle();
    await s.apply(pdb("min", { minAvailable: "50%", selector: { matchLabels: { app: "d" } } }));
    await s.apply(pdb("max", { maxUnavailable: 1, selector: { matchLabels: { app: "d" } } }));
    await s.settle();
    await s.shot("allowed");
    await s.apply(deployment("d", 4, { behave: "never" }));
    await s.settle();
    await s.shot("rolling");
  }),
  scenario("budget over pods without controller", async (s) => {
    await s.create(pod("p"));
    await s.settle();
    await s.apply(pdb("b", { maxUnavailable: 1, selector: { matchLabels: { app: "p" } } }));
    await s.settle();
    await s.shot("unmanaged");
  }),
  scenario("budget of a stateful set", async (s) => {
    await s.apply(statefulSet("s", 3));
    await s.settle();
    await s.apply(pdb("b", { maxUnavailable: "34%", selector: { matchLabels: { app: "s" } } }));
    await s.settle();
    await s.shot("budget");
    await s.apply(statefulSet("s", 1));
    await s.settle();
    await s.shot("scaled");
  }),
  scenario("budget that matches nothing", async (s) => {
    await s.apply(pdb("b", { minAvailable: 1, selector: { matchLabels: { app: "none" } } }));
    await s.settle();
    await s.shot("none");
  }),
  scenario("quota of many things", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q" },
      spec: {
        hard: {
          "requests.cpu": "2",
          "limits.memory": "1Gi",
          services: "3",
          "count/deployments.apps": "5",
          persistentvolumeclaims: "2",
          "requests.storage": "10Gi",
          secrets: "10",
          configmaps: "10",
        },
      },
    });
    await s.apply(
      deployment("d", 2, {
        pod: {
          containers: [
            {
              name: "main",
              image: "x",
              resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1", memory: "128Mi" } },
            },
          ],
        },
      }),
    );
    await s.apply(service("d"));
    await s.apply({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "c" },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "manual",
        resources: { requests: { storage: "3Gi" } },
      },
    });
    await s.settle(3000);
    await s.shot("counted");
    await s.remove("Deployment", "d");
    await s.settle(3000);
    await s.shot("given back");
  }),
  scenario("quota with scopes", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "b" },
      spec: { hard: { pods: "5" }, scopes: ["BestEffort"] },
    });
    await s.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "n" },
      spec: { hard: { pods: "5" }, scopes: ["NotBestEffort"] },
    });
    await s.apply(deployment("d", 2));
    await s.settle(3000);
    await s.shot("scoped");
  }),
  scenario("a chain in the foreground", async (s) => {
    const a = await s.create(cm("a"));
    const b = await s.create(cm("b", a, { blockOwnerDeletion: true }));
    await s.create(cm("c", b, { blockOwnerDeletion: true }));
    await s.create(cm("d", a));
    await s.remove("ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(3000);
    await s.shot("gone");
  }),
  scenario("owners in a circle", async (s) => {
    const a = await s.create(cm("a"));
    const b = await s.create(cm("b", a, { blockOwnerDeletion: true }));
    await s.patch("ConfigMap", "a", {
      metadata: {
        ownerReferences: [
          { apiVersion: "v1", kind: "ConfigMap", name: "b", uid: b.metadata.uid, blockOwnerDeletion: true },
        ],
      },
    });
    await s.remove("ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(4000);
    await s.shot("gone");
  }),
  scenario("a child with one owner in the foreground and one that stays", async (s) => {
    const a = await s.create(cm("a")),
      b = await s.create(cm("b"));
    await s.create({
      ...cm("c"),
      metadata: {
        name: "c",
        ownerReferences: [a, b].map((o) => ({
          apiVersion: "v1",
          kind: "ConfigMap",
          name: o.metadata.name,
          uid: o.metadata.uid,
          blockOwnerDeletion: true,
        })),
      },
    });
    await s.remove("ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(3000);
    await s.shot("c stays");
  }),
  scenario("owner of a wrong uid", async (s) => {
    const _a = await s.create(cm("a"));
    await s.create({
      ...cm("b"),
      metadata: {
        name: "b",
        ownerReferences: [
          { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "22222222-1111-1111-1111-111111111111" },
        ],
      },
    });
    await s.settle(3000);
    await s.shot("collected");
  }),
  scenario("owner of an unknown kind", async (s) => {
    await s.create({
      ...cm("b"),
      metadata: {
        name: "b",
        ownerReferences: [
          {
            apiVersion: "nosuch.example.com/v1",
            kind: "Thing",
            name: "x",
            uid: "22222222-1111-1111-1111-111111111111",
          },
        ],
      },
    });
    await s.settle(3000);
    await s.shot("kept");
  }),
  scenario("too many ports, tolerations and taints", async (s) => {
    const port = (n) =>
      pod(n, {
        pod: { containers: [{ name: "m", image: "x", ports: [{ containerPort: 80, hostPort: 8080 }] }] },
      });
    for (const n of ["a", "b", "c", "d"]) await s.create(port(n));
    await s.settle();
    await s.shot("three placed");
  }),
  scenario("spread over zones", async (s) => {
    const tsc = [
      {
        maxSkew: 1,
        topologyKey: "zone",
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { app: "d" } },
      },
    ];
    await s.apply(deployment("d", 4, { pod: { topologySpreadConstraints: tsc } }));
    await s.settle();
    await s.shot("even");
  }),
  scenario("spread that cannot be", async (s) => {
    const tsc = [
      {
        maxSkew: 1,
        topologyKey: "nosuch",
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { app: "d" } },
      },
    ];
    await s.apply(deployment("d", 1, { pod: { topologySpreadConstraints: tsc } }));
    await s.settle();
    await s.shot("pending");
  }),
  scenario("affinity to others", async (s) => {
    await s.apply(deployment("a", 1));
    await s.settle();
    await s.apply(
      deployment("d", 2, {
        pod: {
          affinity: {
            podAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "a" } } },
              ],
            },
          },
        },
      }),
    );
    await s.apply(
      deployment("e", 1, {
        pod: {
          affinity: {
            podAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "nobody" } } },
              ],
            },
          },
        },
      }),
    );
    await s.settle();
    await s.shot("near");
  }),
  scenario("gated", async (s) => {
    await s.create(
      pod("p", {
        pod: { schedulingGates: [{ name: "example.com/wait" }], containers: [{ name: "m", image: "x" }] },
      }),
    );
    await s.settle();
    await s.shot("gated");
    await s.patch("Pod", "p", { spec: { schedulingGates: null } });
    await s.settle();
    await s.shot("released");
  }),
  scenario("a claim that is missing", async (s) => {
    await s.create(
      pod("p", {
        pod: {
          volumes: [{ name: "v", persistentVolumeClaim: { claimName: "nosuch" } }],
          containers: [{ name: "m", image: "x" }],
        },
      }),
    );
    await s.settle();
    await s.shot("pending");
  }),
  scenario("a claim without a class", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "c" },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "",
        resources: { requests: { storage: "1Gi" } },
      },
    });
    await s.settle();
    await s.shot("pending");
    await s.remove("PersistentVolumeClaim", "c");
    await s.settle();
    await s.shot("gone");
  }),
];
