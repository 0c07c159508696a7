// Changes of services and ingresses, and addresses and ports that services share.
import { ns, object, silent, test } from "../_lib.mjs";
import { merges, spec } from "./_builders.mjs";

export default [
  test("Service update: types, addresses, families and ports", (t) => {
    t.post(
      `${ns}/services`,
      object("v1", "Service", { spec: { selector: { a: "b" }, ports: [{ port: 80 }] } }),
      silent,
    );
    const portsOrCauses = {
      pick: (b) =>
        b.kind === "Status"
          ? {
              ...b,
              message: "",
              details: { ...b.details, causes: b.details?.causes?.map((c) => [c.reason, c.field]) },
            }
          : [
              Object.keys(b.spec).sort(),
              b.spec.type,
              b.spec.ports.map((x) => [x.port, x.targetPort, typeof x.nodePort]),
              b.metadata.generation,
            ],
    };
    for (const s of [
      { type: "NodePort" },
      { type: "ClusterIP" },
      { type: "LoadBalancer" },
      { type: "ExternalName", externalName: "a.b" },
      {
        type: "ExternalName",
        externalName: "a.b",
        clusterIP: null,
        clusterIPs: null,
        ipFamilies: null,
        ipFamilyPolicy: null,
      },
      { type: "ClusterIP" },
      { type: "ClusterIP", externalName: null },
      { clusterIP: "None" },
      { clusterIP: "10.0.0.77" },
      { clusterIPs: [] },
      { ipFamilies: ["IPv6"] },
      { ipFamilyPolicy: "PreferDualStack" },
      {
        ports: [
          { port: 81, name: "x" },
          { port: 82, name: "y" },
        ],
      },
      { ports: [] },
      { sessionAffinity: "ClientIP" },
      { sessionAffinity: "None" },
      { sessionAffinity: "None", sessionAffinityConfig: null },
      { selector: null },
      { publishNotReadyAddresses: true },
      { externalTrafficPolicy: "Local" },
    ])
      t.merge(`${ns}/services/x`, { spec: s }, portsOrCauses);
  }),
  merges(
    "Ingress update: backends, rules and TLS",
    "/apis/networking.k8s.io/v1/namespaces/$NS/ingresses",
    object("networking.k8s.io/v1", "Ingress", {
      spec: { defaultBackend: { service: { name: "s", port: { number: 1 } } } },
    }),
    [
      spec({ ingressClassName: "c" }),
      spec({ defaultBackend: null }),
      spec({
        rules: [
          {
            host: "a.b",
            http: {
              paths: [
                { pathType: "Prefix", path: "/", backend: { service: { name: "s", port: { name: "p" } } } },
              ],
            },
          },
        ],
      }),
      spec({ tls: [{}] }),
      { metadata: { labels: { a: "b" } } },
    ],
  ),
  test("Service create: addresses and node ports in use", (t) => {
    const service = (name, spec) =>
      object("v1", "Service", { spec: { ports: [{ port: 80 }], ...spec } }, { name });
    const saveAddress = { save: { ip: (b) => b.spec.clusterIP }, silent: true };
    t.post(`${ns}/services`, service("a"), saveAddress)
      .post(`${ns}/services`, service("b", { clusterIP: "$ip" }), {
        pick: (b) => [b.code, b.reason, b.details?.causes?.map((c) => [c.reason, c.field])],
      })
      .del(`${ns}/services/a`, silent)
      .post(`${ns}/services`, service("b", { clusterIP: "$ip" }), { pick: (b) => [b.code ?? 201, b.kind] })
      .post(`${ns}/services`, service("c", { type: "NodePort" }), {
        save: { port: (b) => b.spec.ports[0].nodePort },
        silent: true,
      })
      .step({
        method: "POST",
        path: `${ns}/services`,
        body: service("d", { type: "NodePort", ports: [{ port: 80, nodePort: 31234 }] }),
        pick: (b) => b.spec?.ports?.[0]?.nodePort ?? b,
      })
      .post(`${ns}/services`, service("e", { type: "NodePort", ports: [{ port: 80, nodePort: 31234 }] }), {
        pick: (b) => [b.code, b.reason, b.details?.causes?.map((c) => [c.reason, c.field])],
      })
      .post(
        `${ns}/services`,
        service("f", {
          type: "NodePort",
          ports: [
            { port: 80, nodePort: 31235, name: "a" },
            { port: 81, nodePort: 31235, name: "b" },
          ],
        }),
        { pick: (b) => [b.code, b.details?.causes?.map((c) => [c.reason, c.field])] },
      )
      .post(
        `${ns}/services`,
        service("g", {
          type: "NodePort",
          ports: [
            { port: 80, nodePort: 31236, name: "a" },
            { port: 80, protocol: "UDP", nodePort: 31236, name: "b" },
          ],
        }),
        { pick: (b) => [b.code ?? 201, b.spec?.ports?.map((p) => p.nodePort)] },
      );
    for (const n of ["b", "c", "d", "g"]) t.del(`${ns}/services/${n}`, silent);
  }),
];
