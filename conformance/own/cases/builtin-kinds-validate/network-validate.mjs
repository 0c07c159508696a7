// Invalid services, ingresses and network policies.
import { ns, object } from "../_lib.mjs";
import { createEach } from "./_builders.mjs";

const serviceWith = (spec) => object("v1", "Service", { spec: { ports: [{ port: 80 }], ...spec } });

const ingressWith = (spec) => object("networking.k8s.io/v1", "Ingress", { spec });

const ingressPath = (p) => ingressWith({ rules: [{ host: "a.b", http: { paths: [p] } }] });

const backend = { service: { name: "s", port: { number: 80 } } };

const networkPolicyWith = (spec) =>
  object("networking.k8s.io/v1", "NetworkPolicy", { spec: { podSelector: {}, ...spec } });

export default [
  createEach("Service create: invalid types, ports, addresses and families", `${ns}/services`, [
    serviceWith({ type: "Bogus" }),
    serviceWith({ ports: [{ port: 80, nodePort: 30000 }] }),
    serviceWith({ type: "NodePort", ports: [{ port: 80, nodePort: 80 }] }),
    serviceWith({ type: "NodePort", ports: [{ port: 80, nodePort: 99999 }] }),
    serviceWith({ ports: [{ port: 80, targetPort: 0 }] }),
    serviceWith({ ports: [{ port: 80, targetPort: "UPPER" }] }),
    serviceWith({ ports: [{ port: 80, protocol: "X" }] }),
    serviceWith({
      ports: [
        { port: 80, name: "a" },
        { port: 81, name: "a" },
      ],
    }),
    serviceWith({
      ports: [
        { port: 80, name: "a" },
        { port: 80, name: "b" },
      ],
    }),
    serviceWith({
      ports: [
        { port: 80, name: "a" },
        { port: 80, name: "b", protocol: "UDP" },
      ],
    }),
    serviceWith({ ports: [{ port: 80, name: "Bad_Name" }] }),
    serviceWith({ ports: [{ port: 80, appProtocol: "bad proto" }] }),
    serviceWith({ clusterIP: "x" }),
    serviceWith({ clusterIP: "1.2.3.4" }),
    serviceWith({ clusterIP: "None", ports: null }),
    serviceWith({ clusterIP: "None", type: "NodePort" }),
    serviceWith({ clusterIP: "None", type: "LoadBalancer" }),
    serviceWith({ type: "ExternalName" }),
    serviceWith({ type: "ExternalName", externalName: "Bad Name", clusterIP: "10.0.0.50" }),
    serviceWith({ externalName: "a.b" }),
    serviceWith({ sessionAffinity: "Bogus" }),
    serviceWith({ sessionAffinity: "None", sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }),
    serviceWith({ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } }),
    serviceWith({ sessionAffinity: "ClientIP" }),
    serviceWith({ externalTrafficPolicy: "Local" }),
    serviceWith({ type: "NodePort", externalTrafficPolicy: "Bogus" }),
    serviceWith({ internalTrafficPolicy: "Bogus" }),
    serviceWith({ externalIPs: ["x", "127.0.0.1"] }),
    serviceWith({ loadBalancerIP: "1.2.3.4" }),
    serviceWith({ type: "LoadBalancer", loadBalancerSourceRanges: ["x"] }),
    serviceWith({ loadBalancerSourceRanges: ["10.0.0.0/8"] }),
    serviceWith({ loadBalancerClass: "a/b" }),
    serviceWith({
      type: "LoadBalancer",
      loadBalancerClass: "bad class",
      allocateLoadBalancerNodePorts: false,
    }),
    serviceWith({ allocateLoadBalancerNodePorts: true }),
    serviceWith({ healthCheckNodePort: 30001 }),
    serviceWith({ ipFamilies: ["IPv6"] }),
    serviceWith({ ipFamilies: ["IPv4", "IPv4"] }),
    serviceWith({ ipFamilies: ["Bogus"], ipFamilyPolicy: "Bogus" }),
    serviceWith({ ipFamilyPolicy: "RequireDualStack" }),
    serviceWith({ ipFamilyPolicy: "PreferDualStack" }),
    serviceWith({ selector: { "bad key!": "v" } }),
    serviceWith({ trafficDistribution: "Bogus" }),
    serviceWith({ trafficDistribution: "PreferClose" }),
  ]),
  createEach(
    "Ingress create: invalid backends, paths, hosts and TLS",
    "/apis/networking.k8s.io/v1/namespaces/$NS/ingresses",
    [
      ingressWith({}),
      ingressWith({ defaultBackend: {} }),
      ingressWith({ defaultBackend: { service: {} } }),
      ingressWith({ defaultBackend: { service: { name: "s", port: {} } } }),
      ingressWith({ defaultBackend: { service: { name: "s", port: { number: 1, name: "a" } } } }),
      ingressWith({ defaultBackend: { service: { name: "Bad Name", port: { number: 99999 } } } }),
      ingressWith({ defaultBackend: { resource: { kind: "", name: "" } } }),
      ingressWith({ defaultBackend: { ...backend, resource: { kind: "A", name: "b" } } }),
      ingressWith({ rules: [{}] }),
      ingressWith({ rules: [{ host: "1.2.3.4", http: { paths: [] } }] }),
      ingressWith({ rules: [{ host: "Bad Host" }] }),
      ingressWith({
        rules: [{ host: "*.a.b", http: { paths: [{ path: "/", pathType: "Prefix", backend: backend }] } }],
      }),
      ingressWith({ rules: [{ host: "a.*.b" }] }),
      ingressPath({ path: "/", backend: backend }),
      ingressPath({ path: "x", pathType: "Exact", backend: backend }),
      ingressPath({ path: "//a", pathType: "Prefix", backend: backend }),
      ingressPath({ path: "/a/../b", pathType: "Prefix", backend: backend }),
      ingressPath({ path: "/a%2fb", pathType: "Exact", backend: backend }),
      ingressPath({ path: "/a", pathType: "Bogus", backend: backend }),
      ingressPath({ pathType: "ImplementationSpecific", backend: backend }),
      ingressPath({ path: "/a", pathType: "Prefix" }),
      ingressWith({ tls: [{ hosts: ["Bad Host"], secretName: "Bad Name" }], defaultBackend: backend }),
      ingressWith({ tls: [{ hosts: ["*.a.b"] }], defaultBackend: backend }),
      ingressWith({ ingressClassName: "Bad Name", defaultBackend: backend }),
      object(
        "networking.k8s.io/v1",
        "Ingress",
        { spec: { ingressClassName: "a", defaultBackend: backend } },
        { annotations: { "kubernetes.io/ingress.class": "b" } },
      ),
      object(
        "networking.k8s.io/v1",
        "Ingress",
        { spec: { defaultBackend: backend } },
        { annotations: { "kubernetes.io/ingress.class": "b" } },
      ),
    ],
  ),
  createEach(
    "NetworkPolicy create: invalid peers and ports",
    "/apis/networking.k8s.io/v1/namespaces/$NS/networkpolicies",
    [
      networkPolicyWith({ policyTypes: ["Bogus"] }),
      networkPolicyWith({ policyTypes: ["Ingress", "Egress", "Ingress"] }),
      networkPolicyWith({ ingress: [{ from: [{}] }] }),
      networkPolicyWith({ ingress: [{ from: [{ ipBlock: { cidr: "x" } }] }] }),
      networkPolicyWith({
        ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/8", "x", "10.0.0.0/8"] } }] }],
      }),
      networkPolicyWith({ ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8" }, podSelector: {} }] }] }),
      networkPolicyWith({ ingress: [{ ports: [{ port: 0 }] }] }),
      networkPolicyWith({ ingress: [{ ports: [{ port: "Bad_Port", protocol: "X" }] }] }),
      networkPolicyWith({ ingress: [{ ports: [{ port: 80, endPort: 70 }] }] }),
      networkPolicyWith({ ingress: [{ ports: [{ port: "a", endPort: 70 }] }] }),
      networkPolicyWith({ ingress: [{ ports: [{ endPort: 70 }] }] }),
      networkPolicyWith({ egress: [{ to: [{ namespaceSelector: { matchLabels: { "bad key!": "x" } } }] }] }),
      networkPolicyWith({ podSelector: { matchExpressions: [{ key: "a", operator: "Bogus" }] } }),
      networkPolicyWith({ egress: [{}] }),
      networkPolicyWith({ ingress: [{}], policyTypes: [] }),
    ],
  ),
];
