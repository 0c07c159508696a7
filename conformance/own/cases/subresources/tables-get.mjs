// Tables of every built-in kind.
import { apps, batch, ns, object, pod, silent, test } from "../_lib.mjs";
import { budget, budgets, template } from "./_builders.mjs";

const asTable = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };

const cellsOnly = {
  ...asTable,
  pick: (b) =>
    b.kind === "Table"
      ? {
          columns: b.columnDefinitions?.map((c) => [c.name, c.type, c.format, c.priority]),
          rows: b.rows?.map((r) => ({ cells: r.cells, conditions: r.conditions, object: r.object?.kind })),
          metadata: Object.keys(b.metadata ?? {}),
        }
      : b,
};

const tablesOf = (name, list) =>
  test(
    name,
    (t) => {
      for (const [path, object, status] of list) {
        const item = `${path}/${object.metadata.name}`;
        t.post(path, object, silent);
        if (status) t.merge(`${item}/status`, { status }, silent);
        t.get(item, cellsOnly);
      }
      t.get(list[0][0], {
        ...asTable,
        query: { fieldSelector: "metadata.name!=kube-root-ca.crt,metadata.name=x" },
        pick: (b) => [b.kind, b.apiVersion, b.rows?.length, Object.keys(b)],
      });
    },
    { account: true },
  );

export default [
  tablesOf("Pod table: phases, reasons and restarts", [
    [
      `${ns}/pods`,
      pod("x", {
        nodeName: "n1",
        readinessGates: [{ conditionType: "a/b" }],
        initContainers: [
          { name: "i", image: "a" },
          { name: "s", image: "a", restartPolicy: "Always" },
        ],
      }),
      {
        phase: "Running",
        podIP: "1.2.3.4",
        podIPs: [{ ip: "1.2.3.4" }],
        containerStatuses: [
          {
            name: "main",
            ready: true,
            restartCount: 2,
            image: "a",
            imageID: "b",
            state: { running: {} },
            lastState: { terminated: { exitCode: 1, finishedAt: "2024-01-01T00:00:00Z" } },
          },
        ],
        conditions: [
          { type: "Ready", status: "True" },
          { type: "a/b", status: "True" },
        ],
      },
    ],
    [
      `${ns}/pods`,
      pod("wait", { nodeName: "n1" }),
      {
        phase: "Pending",
        containerStatuses: [
          {
            name: "main",
            ready: false,
            restartCount: 0,
            image: "a",
            imageID: "",
            state: { waiting: { reason: "ImagePullBackOff" } },
          },
        ],
      },
    ],
    [`${ns}/pods`, pod("dead", { nodeName: "n1" }), { phase: "Failed", reason: "Evicted" }],
    [
      `${ns}/pods`,
      pod("done", { nodeName: "n1" }),
      {
        phase: "Succeeded",
        containerStatuses: [
          {
            name: "main",
            ready: false,
            restartCount: 0,
            image: "a",
            imageID: "",
            state: { terminated: { exitCode: 0, reason: "Completed" } },
          },
        ],
      },
    ],
    [
      `${ns}/pods`,
      pod("crash", { nodeName: "n1" }),
      {
        phase: "Running",
        containerStatuses: [
          {
            name: "main",
            ready: false,
            restartCount: 5,
            image: "a",
            imageID: "",
            state: { terminated: { exitCode: 3, signal: 9 } },
          },
        ],
      },
    ],
    [
      `${ns}/pods`,
      pod("init", { nodeName: "n1", initContainers: [{ name: "i", image: "a" }] }),
      {
        phase: "Pending",
        initContainerStatuses: [
          {
            name: "i",
            ready: false,
            restartCount: 1,
            image: "a",
            imageID: "",
            state: { waiting: { reason: "PodInitializing" } },
          },
        ],
      },
    ],
    [`${ns}/pods`, pod("gated", { schedulingGates: [{ name: "g" }] })],
  ]),
  tablesOf("Workload table: deployments, sets, jobs and cron jobs", [
    [
      `${apps}/deployments`,
      object("apps/v1", "Deployment", {
        spec: { replicas: 3, selector: { matchLabels: { a: "b" } }, template: template },
      }),
      { replicas: 3, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2, observedGeneration: 1 },
    ],
    [
      `${apps}/replicasets`,
      object("apps/v1", "ReplicaSet", {
        spec: { replicas: 3, selector: { matchLabels: { a: "b" } }, template: template },
      }),
      { replicas: 3, readyReplicas: 2 },
    ],
    [
      `${apps}/statefulsets`,
      object("apps/v1", "StatefulSet", {
        spec: { serviceName: "s", replicas: 3, selector: { matchLabels: { a: "b" } }, template: template },
      }),
      { replicas: 3, readyReplicas: 2 },
    ],
    [
      `${apps}/daemonsets`,
      object("apps/v1", "DaemonSet", {
        spec: {
          selector: { matchLabels: { a: "b" } },
          template: { ...template, spec: { ...template.spec, nodeSelector: { z: "1", y: "2" } } },
        },
      }),
      {
        desiredNumberScheduled: 4,
        currentNumberScheduled: 3,
        numberReady: 2,
        numberMisscheduled: 0,
        updatedNumberScheduled: 1,
        numberAvailable: 1,
      },
    ],
    [
      `${ns}/replicationcontrollers`,
      object("v1", "ReplicationController", {
        spec: { replicas: 2, selector: { a: "b" }, template: template },
      }),
      { replicas: 1 },
    ],
    [
      `${batch}/jobs`,
      object("batch/v1", "Job", {
        spec: {
          completions: 5,
          parallelism: 2,
          template: { spec: { restartPolicy: "Never", containers: template.spec.containers } },
        },
      }),
      { startTime: "2024-01-01T00:00:00Z", active: 2, succeeded: 1 },
    ],
    [
      `${batch}/cronjobs`,
      object("batch/v1", "CronJob", {
        spec: {
          schedule: "*/5 * * * *",
          timeZone: "Etc/UTC",
          suspend: true,
          jobTemplate: {
            spec: { template: { spec: { restartPolicy: "Never", containers: template.spec.containers } } },
          },
        },
      }),
    ],
    [`${apps}/controllerrevisions`, object("apps/v1", "ControllerRevision", { revision: 7, data: {} })],
    [`${ns}/podtemplates`, object("v1", "PodTemplate", { template: template })],
  ]),
  tablesOf("Service table: and endpoints, ingresses, network policies", [
    [
      `${ns}/services`,
      object("v1", "Service", {
        spec: {
          clusterIP: "None",
          selector: { a: "b", c: "d" },
          ports: [
            { port: 80, name: "a" },
            { port: 81, name: "b", protocol: "UDP" },
          ],
        },
      }),
    ],
    [
      `${ns}/services`,
      object(
        "v1",
        "Service",
        { spec: { type: "ExternalName", externalName: "db.example.com" } },
        { name: "ext" },
      ),
    ],
    [
      `${ns}/services`,
      object(
        "v1",
        "Service",
        { spec: { clusterIP: "None", externalIPs: ["1.2.3.4"], ports: [], selector: {} } },
        { name: "noports" },
      ),
    ],
    [
      `${ns}/endpoints`,
      object("v1", "Endpoints", {
        subsets: [
          {
            addresses: [{ ip: "1.1.1.1" }, { ip: "1.1.1.2" }, { ip: "1.1.1.3" }, { ip: "1.1.1.4" }],
            ports: [{ port: 80 }],
          },
        ],
      }),
    ],
    [
      "/apis/discovery.k8s.io/v1/namespaces/$NS/endpointslices",
      object("discovery.k8s.io/v1", "EndpointSlice", {
        addressType: "IPv4",
        endpoints: [{ addresses: ["1.1.1.1"] }, { addresses: ["1.1.1.2"] }],
        ports: [{ port: 80 }, { port: 81, name: "x" }],
      }),
    ],
    [
      "/apis/networking.k8s.io/v1/namespaces/$NS/ingresses",
      object("networking.k8s.io/v1", "Ingress", {
        spec: {
          ingressClassName: "c",
          tls: [{ hosts: ["a.b"] }],
          rules: [
            {
              host: "a.b",
              http: {
                paths: [
                  { path: "/", pathType: "Prefix", backend: { service: { name: "s", port: { number: 1 } } } },
                ],
              },
            },
            { host: "c.d" },
          ],
        },
      }),
      { loadBalancer: { ingress: [{ ip: "9.9.9.9" }, { hostname: "h.i" }] } },
    ],
    [
      "/apis/networking.k8s.io/v1/namespaces/$NS/networkpolicies",
      object("networking.k8s.io/v1", "NetworkPolicy", {
        spec: {
          podSelector: {
            matchLabels: { a: "b" },
            matchExpressions: [{ key: "c", operator: "In", values: ["d"] }],
          },
        },
      }),
    ],
  ]),
  tablesOf("Secret table: and the other namespaced kinds", [
    [`${ns}/secrets`, object("v1", "Secret", { type: "a.b/c", stringData: { a: "1", b: "2" } })],
    [`${ns}/serviceaccounts`, object("v1", "ServiceAccount", { secrets: [{ name: "s" }] })],
    [`${ns}/limitranges`, object("v1", "LimitRange", { spec: { limits: [] } })],
    [
      `${ns}/resourcequotas`,
      object("v1", "ResourceQuota", { spec: { hard: { pods: "5", "limits.cpu": "1" } } }),
      { hard: { pods: "5", "limits.cpu": "1" }, used: { pods: "2" } },
    ],
    [
      `${ns}/persistentvolumeclaims`,
      object("v1", "PersistentVolumeClaim", {
        spec: {
          storageClassName: "sc",
          volumeMode: "Block",
          accessModes: ["ReadWriteOnce", "ReadOnlyMany"],
          resources: { requests: { storage: "1Gi" } },
        },
      }),
      { phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "2Gi" } },
    ],
    [
      budgets,
      budget({ minAvailable: "50%" }),
      { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 },
    ],
    [
      "/apis/autoscaling/v2/namespaces/$NS/horizontalpodautoscalers",
      object("autoscaling/v2", "HorizontalPodAutoscaler", {
        spec: {
          minReplicas: 2,
          maxReplicas: 5,
          scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
          metrics: [
            {
              type: "Resource",
              resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
            },
            {
              type: "Pods",
              pods: { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "1k" } },
            },
            { type: "External", external: { metric: { name: "e" }, target: { type: "Value", value: "30" } } },
          ],
        },
      }),
      {
        currentReplicas: 3,
        desiredReplicas: 3,
        currentMetrics: [
          {
            type: "Resource",
            resource: { name: "cpu", current: { averageUtilization: 42, averageValue: "1" } },
          },
        ],
      },
    ],
    [
      "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles",
      object("rbac.authorization.k8s.io/v1", "Role", { rules: [] }),
    ],
    [
      "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/rolebindings",
      object("rbac.authorization.k8s.io/v1", "RoleBinding", {
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
        subjects: [
          { kind: "User", name: "u", apiGroup: "rbac.authorization.k8s.io" },
          { kind: "Group", name: "g", apiGroup: "rbac.authorization.k8s.io" },
          { kind: "ServiceAccount", name: "s", namespace: "n" },
        ],
      }),
    ],
    [
      `${ns}/events`,
      object("v1", "Event", {
        involvedObject: { kind: "Pod", name: "p", namespace: "$NS", fieldPath: "spec.containers{a}" },
        reason: "R",
        message: "m",
        type: "Warning",
        count: 3,
        firstTimestamp: null,
        source: { component: "c", host: "h" },
      }),
    ],
  ]),
  test("Node table: and the other cluster-scoped kinds", (t) => {
    const clusterTable = (path, object, status) => {
      t.post(path, { ...object, metadata: { name: "x-$ID" } }, silent);
      if (status) t.merge(`${path}/x-$ID/status`, { status }, silent);
      t.get(`${path}/x-$ID`, cellsOnly).cleanup({ method: "DELETE", path: `${path}/x-$ID` });
    };
    clusterTable("/api/v1/nodes", object("v1", "Node", { spec: { unschedulable: true } }), {
      conditions: [{ type: "Ready", status: "True" }],
      nodeInfo: { kubeletVersion: "v1", osImage: "os", kernelVersion: "k", containerRuntimeVersion: "c" },
      addresses: [{ type: "InternalIP", address: "1.1.1.1" }],
    });
    clusterTable(
      "/api/v1/persistentvolumes",
      object("v1", "PersistentVolume", {
        spec: {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteOnce"],
          hostPath: { path: "/x" },
          storageClassName: "s",
          claimRef: { namespace: "n", name: "c" },
        },
      }),
      { phase: "Bound", reason: "r" },
    );
    clusterTable(
      "/apis/storage.k8s.io/v1/storageclasses",
      object("storage.k8s.io/v1", "StorageClass", { provisioner: "a/b", allowVolumeExpansion: true }),
    );
    clusterTable(
      "/apis/storage.k8s.io/v1/csidrivers",
      object("storage.k8s.io/v1", "CSIDriver", { spec: {} }),
    );
    clusterTable(
      "/apis/storage.k8s.io/v1/volumeattachments",
      object("storage.k8s.io/v1", "VolumeAttachment", {
        spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p" } },
      }),
      { attached: true },
    );
    clusterTable(
      "/apis/scheduling.k8s.io/v1/priorityclasses",
      object("scheduling.k8s.io/v1", "PriorityClass", { value: 5 }),
    );
    clusterTable(
      "/apis/node.k8s.io/v1/runtimeclasses",
      object("node.k8s.io/v1", "RuntimeClass", { handler: "h" }),
    );
    clusterTable(
      "/apis/networking.k8s.io/v1/ingressclasses",
      object("networking.k8s.io/v1", "IngressClass", {
        spec: { controller: "a.b/c", parameters: { kind: "K", name: "n", apiGroup: "g.h" } },
      }),
    );
    clusterTable(
      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      object("rbac.authorization.k8s.io/v1", "ClusterRole", { rules: [] }),
    );
    clusterTable(
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", {
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" },
      }),
    );
    clusterTable(
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {}),
    );
    clusterTable(
      "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
      object("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", {
        spec: {
          type: "Limited",
          limited: { limitResponse: { type: "Queue", queuing: { queues: 5, handSize: 2 } } },
        },
      }),
    );
    t.get("/api/v1/componentstatuses", {
      ...asTable,
      pick: (b) => [b.kind, b.columnDefinitions?.map((x) => x.name)],
    })
      .get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        ...asTable,
        pick: (b) => b.columnDefinitions?.map((x) => x.name),
      })
      .get("/apis/apiregistration.k8s.io/v1/apiservices/v1.apps", cellsOnly);
  }),
];
