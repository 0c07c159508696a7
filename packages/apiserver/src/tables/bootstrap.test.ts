import { describe, expect, it } from "vitest";
import { bootstrapObjects } from "./index.ts";

const find = (kind: string, name: string) =>
  bootstrapObjects().find((object) => object.kind === kind && object.metadata?.name === name);

describe("bootstrap objects", () => {
  it("let masters do everything", () => {
    expect(find("ClusterRole", "cluster-admin")?.rules).toEqual([
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ]);
    expect(find("ClusterRoleBinding", "cluster-admin")).toMatchObject({
      roleRef: { kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "system:masters" }],
    });
  });

  it("gather admin, edit and view from labelled roles", () => {
    expect(find("ClusterRole", "view")).toMatchObject({
      rules: null,
      aggregationRule: {
        clusterRoleSelectors: [{ matchLabels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } }],
      },
    });
  });

  it("are new at each call", () => {
    const [first] = bootstrapObjects();
    if (first?.metadata) first.metadata.name = "changed";
    expect(bootstrapObjects()[0]?.metadata?.name).not.toBe("changed");
  });
});
