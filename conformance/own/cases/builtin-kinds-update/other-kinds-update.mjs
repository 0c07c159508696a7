// Changes of the other built-in kinds.
import { cm, ns, object, silent, test } from "../_lib.mjs";
import { selector } from "./_builders.mjs";

export default [
  test(
    "Secret update: and eleven other small kinds",
    (t) => {
      const mergeAll = (path, object, ...ps) => {
        t.post(path, object, silent);
        for (const p of ps) t.merge(`${path}/${object.metadata.name}`, p, { pick: (b) => b });
        if (object.metadata.name !== "x")
          t.cleanup({ method: "DELETE", path: `${path}/${object.metadata.name}` });
      };
      mergeAll(
        `${ns}/secrets`,
        object("v1", "Secret", { type: "Opaque", data: { a: "YQ==" } }),
        { type: "x.y/z" },
        { stringData: { b: "c" } },
        { data: { a: null } },
        { immutable: true },
        { data: { q: "YQ==" } },
        { immutable: null },
        { metadata: { labels: { a: "b" } } },
      );
      mergeAll(
        `${ns}/configmaps`,
        cm("x", { a: "1" }),
        { binaryData: { a: "YQ==" } },
        { binaryData: { b: "!" } },
        { immutable: true },
        { data: null },
      );
      mergeAll(
        `${ns}/serviceaccounts`,
        object("v1", "ServiceAccount", {}),
        { secrets: [{ name: "a" }, { name: "a" }] },
        { imagePullSecrets: [{}] },
        { automountServiceAccountToken: false },
      );
      mergeAll(
        `${ns}/resourcequotas`,
        object("v1", "ResourceQuota", { spec: { hard: { pods: "1" } } }),
        { spec: { hard: { pods: "2", cpu: "1" } } },
        { spec: { hard: { pods: "-2" } } },
      );
      mergeAll(
        "/apis/policy/v1/namespaces/$NS/poddisruptionbudgets",
        object("policy/v1", "PodDisruptionBudget", { spec: { minAvailable: 1, selector: selector } }),
        { spec: { minAvailable: 2 } },
        { spec: { maxUnavailable: 1 } },
        { spec: { maxUnavailable: 1, minAvailable: null } },
        { spec: { selector: {} } },
      );
      mergeAll(
        "/apis/coordination.k8s.io/v1/namespaces/$NS/leases",
        object("coordination.k8s.io/v1", "Lease", { spec: { holderIdentity: "a" } }),
        { spec: { holderIdentity: "" } },
        { spec: { leaseTransitions: -1, leaseDurationSeconds: -1 } },
        { spec: { strategy: "X", preferredHolder: "b" } },
        { spec: { renewTime: "2024-01-01T00:00:00Z" } },
        { spec: null },
      );
      mergeAll(
        "/apis/storage.k8s.io/v1/storageclasses",
        object(
          "storage.k8s.io/v1",
          "StorageClass",
          { provisioner: "a/b", parameters: { x: "y" } },
          { name: "sc-$ID" },
        ),
        { parameters: { x: "z" } },
        { provisioner: "c/d" },
        { reclaimPolicy: "Retain" },
        { allowVolumeExpansion: true },
        { volumeBindingMode: "WaitForFirstConsumer" },
        { mountOptions: ["ro"] },
      );
      mergeAll(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles",
        object("rbac.authorization.k8s.io/v1", "Role", { rules: [] }),
        { rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] },
        { rules: [{ verbs: [] }] },
        { rules: null },
      );
      mergeAll(
        "/apis/networking.k8s.io/v1/ingressclasses",
        object("networking.k8s.io/v1", "IngressClass", { spec: { controller: "a.b/c" } }, { name: "ic-$ID" }),
        { spec: { controller: "d.e/f" } },
        { spec: { parameters: { kind: "K", name: "n", scope: "Namespace" } } },
        { spec: { parameters: { kind: "K", name: "n", scope: "Namespace", namespace: "q" } } },
      );
      mergeAll(
        "/apis/discovery.k8s.io/v1/namespaces/$NS/endpointslices",
        object("discovery.k8s.io/v1", "EndpointSlice", { addressType: "IPv4", endpoints: [] }),
        { addressType: "IPv6" },
        { endpoints: [{ addresses: ["x"] }] },
        {
          endpoints: [
            {
              addresses: ["1.1.1.1"],
              conditions: { ready: false },
              nodeName: "n",
              zone: "z",
              hints: { forZones: [{ name: "z" }] },
            },
          ],
        },
        { ports: [{ port: 99999 }] },
      );
      mergeAll(
        `${ns}/endpoints`,
        object("v1", "Endpoints", {}),
        { subsets: [{ addresses: [{ ip: "127.0.0.1" }] }] },
        { subsets: [{ addresses: [{ ip: "1.1.1.1" }], ports: [{ port: 0 }] }] },
        {
          subsets: [
            { addresses: [{ ip: "1.1.1.2" }, { ip: "1.1.1.1" }], ports: [{ port: 80 }] },
            { addresses: [{ ip: "1.1.1.1" }], ports: [{ port: 80 }] },
          ],
        },
      );
    },
    { account: true },
  ),
  test("Node update: addresses, taints, provider and status", (t) => {
    const nodePath = "/api/v1/nodes/n-$ID";
    t.post(
      "/api/v1/nodes",
      object(
        "v1",
        "Node",
        { spec: { podCIDR: "10.1.0.0/24", taints: [{ key: "a", effect: "NoSchedule" }] } },
        { name: "n-$ID" },
      ),
    )
      .cleanup({ method: "DELETE", path: nodePath })
      .merge(nodePath, { spec: { podCIDR: "10.2.0.0/24" } })
      .merge(nodePath, { spec: { unschedulable: true } })
      .merge(nodePath, {
        spec: {
          taints: [
            { key: "a", effect: "NoSchedule" },
            { key: "a", effect: "NoSchedule" },
          ],
        },
      })
      .merge(nodePath, { spec: { taints: [{ key: "bad key!", effect: "Bogus" }] } })
      .merge(nodePath, { spec: { providerID: "x://y" } })
      .merge(nodePath, { spec: { providerID: "z://y" } })
      .merge(`${nodePath}/status`, { status: { capacity: { cpu: "1", pods: "5", "example.com/x": "1.5" } } })
      .merge(`${nodePath}/status`, {
        status: {
          capacity: { cpu: "1", memory: "1Gi" },
          conditions: [{ type: "Ready", status: "True" }],
          addresses: [{ type: "InternalIP", address: "1.1.1.1" }],
        },
      })
      .merge(nodePath, { metadata: { labels: { "kubernetes.io/hostname": "h" } } })
      .post(
        "/api/v1/nodes",
        object(
          "v1",
          "Node",
          { spec: { podCIDRs: ["x"], configSource: { configMap: {} } } },
          { name: "m-$ID" },
        ),
      );
  }),
  test("Event update: both API groups", (t) => {
    const event = (rest, meta) =>
      object("v1", "Event", { involvedObject: { namespace: "$NS", kind: "Pod", name: "p" }, ...rest }, meta);
    const events = `${ns}/events`,
      newEvents = "/apis/events.k8s.io/v1/namespaces/$NS/events";
    const newEvent = (rest, meta) =>
      object(
        "events.k8s.io/v1",
        "Event",
        {
          regarding: { namespace: "$NS", kind: "Pod", name: "p" },
          reason: "R",
          action: "A",
          type: "Normal",
          reportingController: "a.b/c",
          reportingInstance: "i",
          eventTime: "2024-01-01T00:00:00.000001Z",
          ...rest,
        },
        meta,
      );
    t.post(events, event({ type: "Bogus" }, { name: "e1" }))
      .post(events, event({ eventTime: "2024-01-01T00:00:00.000000Z" }, { name: "e2" }))
      .post(
        events,
        event(
          { count: 1, firstTimestamp: "2024-01-01T00:00:00Z", lastTimestamp: "2024-01-01T00:00:00Z" },
          { name: "e3" },
        ),
      )
      .merge(`${events}/e3`, { count: 2, message: "m" })
      .merge(
        `${events}/e3`,
        { involvedObject: { name: "z" } },
        { pick: (b) => (b.kind === "Status" ? b : b.involvedObject) },
      )
      .post(newEvents, newEvent({}, { name: "n1" }))
      .post(newEvents, newEvent({ reason: "" }, { name: "n2" }))
      .post(newEvents, newEvent({ action: "", type: "Bogus" }, { name: "n3" }))
      .post(
        newEvents,
        newEvent({ reportingController: "bad controller", reportingInstance: "" }, { name: "n4" }),
      )
      .post(newEvents, newEvent({ eventTime: null }, { name: "n5" }))
      .post(newEvents, newEvent({ note: "x".repeat(1100) }, { name: "n6" }))
      .post(
        newEvents,
        newEvent({ series: { count: 1, lastObservedTime: "2024-01-01T00:00:00.000000Z" } }, { name: "n7" }),
      )
      .merge(`${newEvents}/n1`, { series: { count: 2, lastObservedTime: "2024-01-02T00:00:00.000000Z" } })
      .merge(`${newEvents}/n1`, { reason: "Changed" })
      .merge(`${newEvents}/n1`, { deprecatedCount: 4 })
      .get(`${events}/n1`)
      .post(
        "/api/v1/namespaces/default/events",
        object("v1", "Event", { involvedObject: { kind: "Node", name: "n" } }, { name: "d-$ID" }),
        { pick: (b) => b.metadata?.namespace ?? b },
      )
      .post(events, object("v1", "Event", { involvedObject: { kind: "Node", name: "n" } }, { name: "d2" }))
      .cleanup({ method: "DELETE", path: "/api/v1/namespaces/default/events/d-$ID" });
  }),
  test("CertificateSigningRequest create: invalid fields", (t) => {
    const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests",
      request = (s, n) =>
        object("certificates.k8s.io/v1", "CertificateSigningRequest", { spec: s }, { name: `${n}-$ID` });
    t.post(requests, request({ request: "YQ==", signerName: "a.b/c", usages: ["client auth"] }, "a"))
      .post(requests, request({}, "b"))
      .post(
        requests,
        request({ request: "YQ==", signerName: "nodomain", usages: ["bogus"], expirationSeconds: 5 }, "c"),
      )
      .get(`${requests}/a-$ID`, { pick: (b) => b.code ?? 0 });
  }),
];
