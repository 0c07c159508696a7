import type { NetworkPolicy } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import type { StoredPod } from "../api/api.ts";
import { policyRules } from "./policy-rules.ts";

const stored = { uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };

function pod(
  name: string,
  podIP: string,
  more: { namespace?: string; labels?: Record<string, string> } = {},
) {
  const { namespace = "shop", labels = { app: name } } = more;
  return {
    metadata: { ...stored, name, namespace, labels },
    spec: { containers: [{ name: "c", ports: [{ name: "http", containerPort: 8080 }] }] },
    status: { podIP, phase: "Running" },
  } as StoredPod;
}

const pods = [
  pod("web", "10.244.0.2"),
  pod("db", "10.244.0.3"),
  pod("spy", "10.244.1.2", { namespace: "other", labels: { app: "web" } }),
];
const namespaces = ["shop", "other"].map((name) => ({ metadata: { ...stored, name, labels: { name } } }));

/** The lines of what is allowed to or from `db`, and whether it is isolated at all. */
function rules(spec: NetworkPolicy["spec"]): { readonly text: string; readonly allowed: string[] } {
  const policy = { metadata: { ...stored, name: "p", namespace: "shop" }, spec };
  const text = policyRules({ policies: [policy as never], pods, namespaces: namespaces as never }).join("\n");
  return {
    text,
    allowed: [...text.matchAll(/^ {4}(.*?) ?return$/gm)]
      .map(([, match = ""]) => match)
      .filter((match) => match !== "ct direction reply"),
  };
}

const db = { matchLabels: { app: "db" } };

describe("a policy", () => {
  test("without rules lets nothing in, and leaves what goes out alone", () => {
    const { text, allowed } = rules({ podSelector: db });
    expect(allowed).toEqual([]);
    expect(text).toContain("ip daddr vmap { 10.244.0.3 : jump policy-in-0 }");
    expect(text).not.toContain("saddr vmap");
  });

  test("for both ways lets nothing in and nothing out", () => {
    const { text } = rules({ podSelector: db, policyTypes: ["Ingress", "Egress"] });
    expect(text).toContain("ip saddr vmap { 10.244.0.3 : jump policy-out-0 }");
    expect(text).toContain("ct direction reply return");
  });

  test("leaves pods alone that it does not select", () => {
    const { text } = rules({ podSelector: { matchLabels: { app: "nobody" } } });
    expect(text).not.toContain("vmap");
  });

  test("with an empty rule lets everybody in", () => {
    expect(rules({ podSelector: db, ingress: [{}] }).allowed).toEqual([""]);
  });

  test.each([
    [
      "pods of its own namespace",
      { podSelector: { matchLabels: { app: "web" } } },
      "ip saddr { 10.244.0.2 }",
    ],
    [
      "all pods of namespaces",
      { namespaceSelector: { matchLabels: { name: "other" } } },
      "ip saddr { 10.244.1.2 }",
    ],
    [
      "some pods of all namespaces",
      { namespaceSelector: {}, podSelector: { matchLabels: { app: "web" } } },
      "ip saddr { 10.244.0.2, 10.244.1.2 }",
    ],
    [
      "addresses but for some",
      { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } },
      "ip saddr 10.0.0.0/8 ip saddr != { 10.1.0.0/16 }",
    ],
  ])("lets in %s", (_, peer, match) => {
    expect(rules({ podSelector: db, ingress: [{ from: [peer] }] }).allowed).toEqual([match]);
  });

  test("names ports by number, by range, by the name they have in the pod, and by protocol alone", () => {
    const ports = [
      { port: 80 },
      { port: 100, endPort: 200, protocol: "UDP" as const },
      { port: "http" },
      { protocol: "SCTP" as const },
    ];
    expect(rules({ podSelector: db, ingress: [{ ports }] }).allowed).toEqual([
      "tcp dport 80",
      "udp dport 100-200",
      "tcp dport 8080",
      "meta l4proto sctp",
    ]);
  });

  test("that names nobody who is there lets nobody in", () => {
    const from = [{ podSelector: { matchLabels: { app: "ghost" } } }];
    expect(rules({ podSelector: db, ingress: [{ from }] }).allowed).toEqual([]);
  });

  test("lets out to the named port of the pod that is connected to", () => {
    const to = [{ podSelector: { matchLabels: { app: "web" } } }];
    const { allowed } = rules({
      podSelector: db,
      policyTypes: ["Egress"],
      egress: [{ to, ports: [{ port: "http" }] }],
    });
    expect(allowed).toEqual(["ip daddr 10.244.0.2 tcp dport 8080"]);
  });
});
