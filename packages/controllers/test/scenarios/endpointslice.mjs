// EndpointSlices: what a Service and its pods lead to.
import {
  deployment,
  pod,
  scenario,
  service,
  statefulSet,
} from "../../../../conformance/controllers/scenarios/_lib.mjs";

export default [
  scenario("EndpointSlice: the selector of a Service changes", async (s) => {
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
  scenario("EndpointSlice: a Service with several ports", async (s) => {
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
  scenario("EndpointSlice: a headless Service without ports", async (s) => {
    await s.apply(service("d", { clusterIP: "None", ports: [] }));
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.shot("no ports");
  }),
  scenario("EndpointSlice: a Service with labels", async (s) => {
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
  scenario("EndpointSlice: a Service without selector, its Endpoints are mirrored", async (s) => {
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
  scenario("EndpointSlice: the workload is scaled to zero", async (s) => {
    await s.apply(service("d"));
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.apply(deployment("d", 0));
    await s.settle();
    await s.shot("nothing");
  }),
  scenario("EndpointSlice: a numbered target port", async (s) => {
    await s.apply(
      service("d", {
        ports: [
          { port: 80, targetPort: 8080 },
          { name: "two", port: 81, targetPort: 9090, protocol: "UDP" },
        ].map((p, i) => ({ name: `p${i}`, ...p })),
      }),
    );
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.shot("numbered");
  }),
  scenario("EndpointSlice: a Service of type ExternalName", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x" },
      spec: { type: "ExternalName", externalName: "example.com" },
    });
    await s.settle();
    await s.shot("nothing");
  }),
  scenario("EndpointSlice: the headless Service of a StatefulSet", async (s) => {
    await s.apply(service("s", { clusterIP: "None" }));
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.shot("hostnames");
    await s.remove("Service", "s");
    await s.settle(3000);
    await s.shot("slices gone");
  }),
  scenario("EndpointSlice: labels and annotations of a headless Service", async (s) => {
    await s.apply({
      ...service("d"),
      metadata: { name: "d", labels: { a: "b" }, annotations: { note: "x" } },
    });
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.shot("with labels");
    await s.apply({ ...service("d"), metadata: { name: "d", labels: { c: "d" } } });
    await s.settle();
    await s.shot("changed");
  }),
  scenario("EndpointSlice: two Services, and a pod that leaves one", async (s) => {
    await s.apply(service("d"));
    await s.apply(service("both", { selector: { app: "d", role: "x" } }));
    await s.apply(deployment("d", 1, { labels: { role: "x" } }));
    await s.settle();
    await s.shot("in both");
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { role: "y" } } });
    await s.settle();
    await s.shot("in one");
  }),
  scenario("EndpointSlice: the ports of a Service change", async (s) => {
    await s.apply(service("d"));
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.apply(
      service("d", {
        ports: [
          { name: "web", port: 81, targetPort: "web" },
          { name: "more", port: 82, targetPort: 9999 },
        ],
      }),
    );
    await s.settle();
    await s.shot("two ports");
  }),
  scenario("EndpointSlice: slow pods become endpoints", async (s) => {
    await s.apply(service("d", { sessionAffinity: "ClientIP", trafficDistribution: "PreferClose" }));
    await s.apply(deployment("d", 2, { behave: "slow" }));
    await s.settle(3000);
    await s.shot("ready");
    await s.apply(deployment("d", 0, { behave: "slow" }));
    await s.settle();
    await s.shot("none");
  }),
  scenario("EndpointSlice: a pod that does not name the target port", async (s) => {
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
  scenario("EndpointSlice: one port number with two protocols", async (s) => {
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
  scenario("EndpointSlice: a terminating pod still serves", async (s) => {
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
  scenario("EndpointSlice: finished pods are no endpoints", async (s) => {
    await s.apply(service("p", { publishNotReadyAddresses: true }));
    await s.create(pod("p", { behave: "succeed" }));
    await s.create(pod("q", { behave: "fail", labels: { app: "p" } }));
    await s.create(pod("r", { labels: { app: "p" }, node: { zone: "nowhere" } }));
    await s.settle();
    await s.shot("none");
  }),
  scenario("EndpointSlice: hostnames of pods in a headless Service", async (s) => {
    await s.apply(service("p", { clusterIP: "None" }));
    await s.create(pod("p", { pod: { hostname: "first", subdomain: "p" } }));
    await s.create(pod("q", { labels: { app: "p" }, pod: { hostname: "second", subdomain: "other" } }));
    await s.settle();
    await s.shot("one name");
  }),
  scenario("EndpointSlice: a Service of type NodePort loses its selector", async (s) => {
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
  scenario("EndpointSlice: a Service becomes an ExternalName", async (s) => {
    await s.apply(service("d"));
    await s.apply(deployment("d", 1));
    await s.settle();
    const spec = { type: "ExternalName", externalName: "example.com", clusterIP: null, clusterIPs: null };
    await s.call("PATCH", s.pathOf("Service", s.ns, "d"), { spec }, "application/merge-patch+json");
    await s.settle();
    await s.shot("external");
  }),
];
