// Ephemeral containers, resize, binding, eviction, status and connections of pods.
import { dryRun, ns, object, pod, silent, test } from "../_lib.mjs";
import { budget, budgets } from "./_builders.mjs";

const podPath = `${ns}/pods/p`;

const createPodOnNode = (t, spec = {}, meta = {}) =>
  t.post(`${ns}/pods`, pod("p", { nodeName: "n1", ...spec }, meta), silent);

const ephemeral = (...list) => ({ spec: { ephemeralContainers: list } });

const evict = (over = {}, q) => ({
  path: `${podPath}/eviction`,
  method: "POST",
  body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" }, ...over },
  ...q,
});

export default [
  test(
    "Pod ephemeralcontainers update: additions, changes and removals",
    (t) =>
      createPodOnNode(t)
        .get(`${podPath}/ephemeralcontainers`, { pick: (b) => b.kind })
        .strategic(`${podPath}/ephemeralcontainers`, ephemeral({ name: "e", image: "i" }))
        .strategic(`${podPath}/ephemeralcontainers`, ephemeral({ name: "e", image: "changed" }))
        .strategic(`${podPath}/ephemeralcontainers`, ephemeral({ name: "main", image: "i" }))
        .strategic(
          `${podPath}/ephemeralcontainers`,
          ephemeral({
            name: "f",
            image: "i",
            ports: [{ containerPort: 1 }],
            resources: { limits: { cpu: "1" } },
            livenessProbe: { exec: { command: ["x"] } },
          }),
        )
        .strategic(
          `${podPath}/ephemeralcontainers`,
          ephemeral({ name: "g", image: "i", targetContainerName: "none" }),
        )
        .strategic(
          `${podPath}/ephemeralcontainers`,
          {
            spec: {
              ephemeralContainers: [{ name: "h", image: "i", targetContainerName: "main" }],
              hostNetwork: true,
            },
          },
          {
            pick: (b) =>
              b.spec ? [b.spec.hostNetwork, b.spec.ephemeralContainers, b.metadata.generation] : b,
          },
        )
        .merge(`${podPath}/ephemeralcontainers`, { spec: { ephemeralContainers: [] } })
        .merge(
          podPath,
          { spec: { ephemeralContainers: null } },
          { pick: (b) => b.spec?.ephemeralContainers?.length ?? b },
        )
        .apply(
          `${podPath}/ephemeralcontainers`,
          object("v1", "Pod", ephemeral({ name: "z", image: "y" }), { name: "p" }),
          "m",
          { pick: (b) => b.metadata?.managedFields ?? b },
        ),
    { account: true },
  ),
  test(
    "Pod resize update: requests and limits of a pod without a node",
    (t) =>
      createPodOnNode(t, {
        containers: [
          {
            name: "main",
            image: "a",
            resources: { requests: { cpu: "100m", memory: "32Mi" }, limits: { cpu: "200m", memory: "64Mi" } },
          },
        ],
      })
        .strategic(`${podPath}/resize`, {
          spec: { containers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] },
        })
        .strategic(`${podPath}/resize`, {
          spec: { containers: [{ name: "main", image: "b", resources: { limits: { cpu: "1" } } }] },
        })
        .strategic(`${podPath}/resize`, {
          spec: { containers: [{ name: "main", resources: { requests: { cpu: "5" } } }] },
        })
        .strategic(`${podPath}/resize`, {
          spec: {
            containers: [
              { name: "main", resources: { requests: { memory: "1Mi" }, limits: { memory: "1Mi" } } },
            ],
          },
        })
        .merge(`${podPath}/resize`, { spec: { containers: [{ name: "main", image: "a", resources: {} }] } })
        .strategic(`${podPath}/resize`, { spec: { containers: [{ name: "other", resources: {} }] } })
        .strategic(podPath, {
          spec: { containers: [{ name: "main", resources: { requests: { cpu: "120m" } } }] },
        })
        .get(`${podPath}/resize`, { pick: (b) => [b.kind, b.metadata?.generation] }),
    { account: true },
  ),
  test(
    "Pod resize update: against what the node has",
    (t) =>
      t
        .post(
          "/api/v1/nodes",
          {
            apiVersion: "v1",
            kind: "Node",
            metadata: { name: "n-$ID", labels: { "kubernetes.io/os": "linux" } },
          },
          silent,
        )
        .cleanup({ method: "DELETE", path: "/api/v1/nodes/n-$ID" })
        .merge(
          "/api/v1/nodes/n-$ID/status",
          { status: { allocatable: { cpu: "1", memory: "1Gi" }, capacity: { cpu: "1", memory: "1Gi" } } },
          silent,
        )
        .wait(500)
        .post(
          `${ns}/pods`,
          pod("p", {
            nodeName: "n-$ID",
            containers: [
              { name: "main", image: "a", resources: { requests: { cpu: "100m", memory: "32Mi" } } },
            ],
          }),
          silent,
        )
        .strategic(`${podPath}/resize`, {
          spec: { containers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] },
        })
        .strategic(`${podPath}/resize`, {
          spec: { containers: [{ name: "main", resources: { requests: { cpu: "2", memory: "2Gi" } } }] },
        })
        .merge("/api/v1/nodes/n-$ID", { metadata: { labels: { "kubernetes.io/os": "windows" } } }, silent)
        .wait(500)
        .strategic(`${podPath}/resize`, {
          spec: { containers: [{ name: "main", resources: { requests: { cpu: "200m" } } }] },
        }),
    { account: true },
  ),
  test(
    "Pod binding create: gates, targets and pods that have a node",
    (t) => {
      t.post(`${ns}/pods`, pod("p", { schedulingGates: [{ name: "wait" }] }), silent);
      const binding = (target, rest = {}) => ({
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: "p" },
        target,
        ...rest,
      });
      t.post(`${podPath}/binding`, binding({ kind: "Node", name: "n" }))
        .merge(podPath, { spec: { schedulingGates: [] } }, { pick: (x) => x.status?.conditions ?? x })
        .post(`${podPath}/binding`, binding({ kind: "Pod", name: "n" }))
        .post(`${podPath}/binding`, binding({ name: "" }))
        .post(`${podPath}/binding`, binding({ name: "n" }, { metadata: { name: "other" } }))
        .post(
          `${podPath}/binding`,
          binding({ name: "n" }, { metadata: { name: "p", annotations: { a: "b" }, labels: { l: "m" } } }),
        )
        .get(podPath, {
          pick: (x) => [x.spec?.nodeName, x.metadata?.annotations, x.metadata?.labels, x.status?.conditions],
        })
        .post(`${ns}/bindings`, binding({ kind: "Node", name: "m" }))
        .post(`${ns}/pods/none/binding`, binding({ name: "n" }, { metadata: { name: "none" } }))
        .get(`${podPath}/binding`);
    },
    { account: true },
  ),
  test(
    "Pod eviction create: budgets, preconditions and dry runs",
    (t) => {
      createPodOnNode(t, {}, { labels: { app: "x" } });
      t.post(budgets, budget({ minAvailable: 1 }), silent)
        .step(evict())
        .merge(
          `${podPath}/status`,
          { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } },
          silent,
        )
        .merge(
          `${budgets}/b/status`,
          {
            status: {
              observedGeneration: 1,
              disruptionsAllowed: 0,
              currentHealthy: 1,
              desiredHealthy: 1,
              expectedPods: 1,
            },
          },
          silent,
        )
        .step(evict())
        .step(evict({ deleteOptions: { gracePeriodSeconds: 3 } }))
        .merge(`${budgets}/b/status`, { status: { disruptionsAllowed: 1, observedGeneration: 1 } }, silent)
        .step(evict({ metadata: { name: "q" } }))
        .step(evict({ deleteOptions: { preconditions: { uid: "11111111-1111-1111-1111-111111111111" } } }))
        .step(evict({}, dryRun))
        .step(evict({ deleteOptions: { gracePeriodSeconds: 3 } }))
        .get(podPath, {
          pick: (b) => [
            b.metadata?.deletionGracePeriodSeconds,
            b.status?.conditions?.map((c) => [c.type, c.status, c.reason]),
          ],
        })
        .get(`${budgets}/b`, {
          pick: (b) => ({ ...b.status, disruptedPods: Object.keys(b.status?.disruptedPods ?? {}) }),
        })
        .step(evict())
        .step({
          ...evict(),
          path: `${ns}/pods/none/eviction`,
          body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "none" } },
        })
        .step(evict({ apiVersion: "policy/v1beta1" }))
        .step(evict({ kind: "Bogus" }))
        .step({ method: "DELETE", path: podPath, query: { gracePeriodSeconds: "0" }, silent: true });
    },
    { account: true },
  ),
  test(
    "Pod eviction create: two budgets select the pod",
    (t) => {
      createPodOnNode(t, {}, { labels: { app: "x" } });
      t.merge(
        `${podPath}/status`,
        { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } },
        silent,
      )
        .post(budgets, budget({ minAvailable: 1 }), silent)
        .post(budgets, { ...budget({ maxUnavailable: 0 }), metadata: { name: "c" } }, silent)
        .step(evict());
    },
    { account: true },
  ),
  test(
    "Pod status update: invalid addresses, conditions and restarts",
    (t) =>
      createPodOnNode(t)
        .merge(`${podPath}/status`, { status: { phase: "Bogus" } }, { pick: (b) => b.status?.phase ?? b })
        .merge(`${podPath}/status`, { status: { podIP: "x" } })
        .merge(`${podPath}/status`, { status: { podIPs: [{ ip: "1.1.1.1" }, { ip: "2.2.2.2" }] } })
        .merge(`${podPath}/status`, { status: { hostIP: "x" } })
        .merge(`${podPath}/status`, {
          status: {
            conditions: [
              { type: "A", status: "True" },
              { type: "A", status: "True" },
            ],
          },
        })
        .merge(
          `${podPath}/status`,
          {
            status: {
              containerStatuses: [
                {
                  name: "main",
                  image: "a",
                  imageID: "b",
                  ready: true,
                  restartCount: 1,
                  state: { running: { startedAt: "2024-01-01T00:00:00Z" } },
                },
              ],
            },
          },
          { pick: (b) => b.status ?? b },
        )
        .merge(
          `${podPath}/status`,
          {
            status: {
              containerStatuses: [
                {
                  name: "main",
                  image: "a",
                  imageID: "b",
                  ready: false,
                  restartCount: 0,
                  state: { terminated: { exitCode: 1 } },
                },
              ],
            },
          },
          { pick: (b) => (b.kind === "Status" ? b : b.status) },
        )
        .merge(
          `${podPath}/status`,
          { metadata: { labels: { q: "r" }, annotations: { s: "t" } }, spec: { nodeName: "zz" } },
          { pick: (b) => [b.metadata?.labels, b.metadata?.annotations, b.spec?.nodeName] },
        )
        .merge(`${podPath}/status`, {
          status: { nominatedNodeName: "Bad Name", qosClass: "Guaranteed", startTime: null },
        })
        .merge(`${podPath}/status`, { status: { qosClass: "Guaranteed" } }),
    { account: true },
  ),
  test(
    "Pod connect: log, exec, attach and port-forward without a kubelet",
    (t) =>
      createPodOnNode(t)
        .get(`${podPath}/log`)
        .get(`${podPath}/log`, { query: { container: "none" } })
        .get(`${podPath}/log`, { query: { tailLines: "-1" } })
        .get(`${podPath}/log`, { query: { sinceSeconds: "0" } })
        .get(`${podPath}/log`, { query: { sinceSeconds: "1", sinceTime: "2024-01-01T00:00:00Z" } })
        .get(`${podPath}/log`, { query: { limitBytes: "0" } })
        .get(`${podPath}/log`, { query: { stream: "Bogus" } })
        .get(`${ns}/pods/none/log`)
        .post(`${podPath}/exec`, undefined)
        .post(`${podPath}/exec`, undefined, { query: { command: "x", container: "none" } })
        .post(`${podPath}/exec`, undefined, { query: { command: "x" } })
        .post(`${podPath}/attach`, undefined, { query: { container: "none" } })
        .get(`${podPath}/portforward`),
    { account: true },
  ),
];
