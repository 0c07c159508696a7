// Faults of services.
import { ns } from "../_lib.mjs";
import { createEach } from "./_builders.mjs";

const serviceWith = (spec, m) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "s", ...m },
  spec: { ports: [{ port: 80 }], ...spec },
});

export default [
  createEach("Service create: one fault at a time", `${ns}/services`, [
    serviceWith({}),
    serviceWith({ ports: [] }),
    serviceWith({ type: "Bogus" }),
    serviceWith({ ports: [{ port: 0 }] }),
    serviceWith({ ports: [{ port: 80 }, { port: 81 }] }),
    serviceWith({
      ports: [
        { port: 80, name: "a" },
        { port: 80, name: "b" },
      ],
    }),
    serviceWith({ ports: [{ port: 80, protocol: "X" }] }),
    serviceWith({ ports: [{ port: 80, targetPort: "BAD_" }] }),
    serviceWith({ ports: [{ port: 80, targetPort: 0 }] }),
    serviceWith({ ports: [{ port: 80, nodePort: 30000 }] }),
    serviceWith({ clusterIP: "x" }),
    serviceWith({ clusterIP: "None", ports: undefined }),
    serviceWith({ clusterIP: "None", type: "NodePort" }),
    serviceWith({ clusterIP: "1.2.3.4" }),
    serviceWith({ type: "ExternalName", ports: undefined }),
    serviceWith({ type: "ExternalName", externalName: "bad name", ports: undefined }),
    serviceWith({ type: "ExternalName", externalName: "a.b", ports: undefined }),
    serviceWith({ externalName: "x" }),
    serviceWith({ selector: { "bad key": "x" } }),
    serviceWith({ sessionAffinity: "X" }),
    serviceWith({ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } }),
    serviceWith({ sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }),
    serviceWith({ externalTrafficPolicy: "Local" }),
    serviceWith({ internalTrafficPolicy: "X" }),
    serviceWith({ externalIPs: ["x", "127.0.0.1"] }),
    serviceWith({ loadBalancerIP: "1.1.1.1" }),
    serviceWith({ loadBalancerSourceRanges: ["10.0.0.0/8"] }),
    serviceWith({ type: "LoadBalancer", loadBalancerSourceRanges: ["x"] }),
    serviceWith({ loadBalancerClass: "a/b" }),
    serviceWith({ allocateLoadBalancerNodePorts: false }),
    serviceWith({ ipFamilies: ["IPv6"] }),
    serviceWith({ ipFamilies: ["IPv4", "IPv4"] }),
    serviceWith({ ipFamilyPolicy: "X" }),
    serviceWith({ ipFamilyPolicy: "RequireDualStack" }),
    serviceWith({ ipFamilyPolicy: "PreferDualStack" }),
    serviceWith({ publishNotReadyAddresses: true }),
    serviceWith({ trafficDistribution: "X" }),
    serviceWith({}, { name: "1a" }),
    serviceWith({}, { name: "a.b" }),
  ]),
];
