import type { Stored } from "@keelson/core";
import type { NetworkPolicy } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { type PolicyPod, policyRules } from "./policy-rules.ts";

const pod = (address: string, labels: Record<string, string>, namespace = "n"): PolicyPod => ({
  ...{ address, labels, namespace },
  ports: [{ name: "web", port: 8080, protocol: "TCP" }],
});
const pods = [
  pod("10.0.0.2", { app: "db" }),
  pod("10.0.0.3", { app: "web" }),
  pod("10.0.0.4", { app: "web" }, "other"),
  { ...pod("10.0.0.53", { "k8s-app": "kube-dns" }, "kube-system"), isNodes: true },
];
const namespaces = new Map<string, Record<string, string>>([
  ["n", { team: "a" }],
  ["other", { team: "b" }],
  ["kube-system", {}],
]);

function chains(spec: NonNullable<NetworkPolicy["spec"]>, namespace = "n"): Map<string, string[]> {
  const policy = { metadata: { name: "p", namespace }, spec } as Stored<NetworkPolicy>;
  const made = policyRules({ policies: [policy], namespaces, pods }).chains;
  return new Map(
    made.map((text) => {
      const [head = "", ...lines] = text.split("\n").map((line) => line.trim());
      return [head.split(" ")[1] ?? "", lines.slice(0, -1)];
    }),
  );
}
/** What is allowed to the database, before everything else is dropped. */
const allowed = (spec: NonNullable<NetworkPolicy["spec"]>, chain = "ingress-0-original") =>
  chains({ podSelector: { matchLabels: { app: "db" } }, ...spec }).get(chain);

describe("rules of network policies", () => {
  test("there are none where no pod is isolated", () => {
    expect(chains({ podSelector: { matchLabels: { app: "none" } } }).size).toBe(0);
    expect(chains({ podSelector: {} }, "empty").size).toBe(0);
  });

  test("a pod that a policy selects is closed to everybody, in both directions of a connection", () => {
    const made = chains({ podSelector: {} });
    expect([...made.keys()]).toEqual([
      ...["ingress-0-original", "ingress-0-reply", "ingress-1-original", "ingress-1-reply"],
      ...["policies-original", "policies-reply"],
    ]);
    expect(made.get("ingress-0-original")).toEqual(["drop"]);
    expect(made.get("policies-original")?.at(-1)).toBe(
      "ip daddr vmap { 10.0.0.2 : jump ingress-0-original, 10.0.0.3 : jump ingress-1-original }",
    );
    expect(made.get("policies-reply")?.at(-1)).toBe(
      "ip saddr vmap { 10.0.0.2 : jump ingress-0-reply, 10.0.0.3 : jump ingress-1-reply }",
    );
  });

  test.each<[string, NonNullable<NetworkPolicy["spec"]>["ingress"], string[]]>([
    ["everybody", [{}], ["return"]],
    ["pods of the namespace", [{ from: [{ podSelector: {} }] }], ["ip saddr { 10.0.0.2, 10.0.0.3 } return"]],
    [
      "pods of other namespaces",
      [{ from: [{ namespaceSelector: { matchLabels: { team: "b" } } }] }],
      ["ip saddr { 10.0.0.4 } return"],
    ],
    [
      "certain pods of certain namespaces",
      [{ from: [{ namespaceSelector: {}, podSelector: { matchLabels: { app: "web" } } }] }],
      ["ip saddr { 10.0.0.3, 10.0.0.4 } return"],
    ],
    ["nobody who is there", [{ from: [{ podSelector: { matchLabels: { app: "x" } } }] }], []],
    [
      "a range without parts of it",
      [{ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16", "10.1.2.0/24"] } }] }],
      ["ip saddr 10.0.0.0/8 ip saddr != 10.1.0.0/16 ip saddr != 10.1.2.0/24 return"],
    ],
    ["a range that no pod can have", [{ from: [{ ipBlock: { cidr: "fd00::/8" } }] }], []],
    ["no range at all", [{ from: [{ ipBlock: { cidr: "10.0.0.0/8; drop" } }] }], []],
    [
      "ports by number, range and name",
      [
        {
          ports: [
            { port: 80 },
            { port: 90, endPort: 99, protocol: "UDP" },
            { port: "web" },
            { protocol: "SCTP" },
          ],
        },
      ],
      [
        "meta l4proto tcp th dport 80 return",
        "meta l4proto udp th dport 90-99 return",
        "meta l4proto tcp th dport 8080 return",
        "meta l4proto sctp return",
      ],
    ],
    ["a name that the pod does not have", [{ ports: [{ port: "absent" }] }], []],
  ])("it is opened to %s", (_, ingress, expected) => {
    expect(allowed({ ingress })).toEqual([...expected, "drop"]);
  });

  test("answers pass where the question did", () => {
    const ingress = [{ from: [{ podSelector: { matchLabels: { app: "web" } } }], ports: [{ port: 80 }] }];
    expect(allowed({ ingress }, "ingress-0-reply")).toEqual([
      "ip daddr { 10.0.0.3 } meta l4proto tcp th sport 80 return",
      "drop",
    ]);
    const egress = [{ to: [{ podSelector: { matchLabels: { app: "web" } } }], ports: [{ port: 80 }] }];
    const policyTypes: ["Egress"] = ["Egress"];
    expect(allowed({ policyTypes, egress }, "egress-0-original")).toEqual([
      "ip daddr { 10.0.0.3 } meta l4proto tcp th dport 80 return",
      "drop",
    ]);
    expect(allowed({ policyTypes, egress }, "egress-0-reply")).toEqual([
      "ip saddr { 10.0.0.3 } meta l4proto tcp th sport 80 return",
      "drop",
    ]);
  });

  test("a named port that goes out is the other pod's", () => {
    const egress = [{ to: [{ namespaceSelector: {} }], ports: [{ port: "web" }] }];
    expect(allowed({ policyTypes: ["Egress"], egress }, "egress-0-original")).toEqual([
      ...pods.map(({ address }) => `ip daddr { ${address} } meta l4proto tcp th dport 8080 return`),
      "drop",
    ]);
  });

  test("a policy is about what comes in, and about what goes out when it says so", () => {
    const names = (spec: NonNullable<NetworkPolicy["spec"]>) => [...chains(spec).keys()].join();
    expect(names({ podSelector: {} })).not.toContain("egress");
    expect(names({ podSelector: {}, egress: [] })).toContain("egress");
    expect(names({ podSelector: {}, policyTypes: ["Egress"] })).not.toContain("ingress");
  });

  test("the name server can be named and is never closed", () => {
    expect(chains({ podSelector: {} }, "kube-system").size).toBe(0);
    const egress = [
      { to: [{ namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } }] },
    ];
    expect(allowed({ policyTypes: ["Egress"], egress }, "egress-0-original")).toEqual([
      "ip daddr { 10.0.0.53 } return",
      "drop",
    ]);
  });
});
