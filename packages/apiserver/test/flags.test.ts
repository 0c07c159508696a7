import { describe, expect, test } from "vitest";
import { apiServer, FlagError } from "../src/index.ts";
import { Server } from "./harness.ts";

describe("a flag", () => {
  test.for<[Record<string, string>, string]>([
    [{ "authorisation-mode": "RBAC" }, "unknown flag: --authorisation-mode"],
    [{ "feature-gates": "Nothing=true" }, "unknown flag: --feature-gates"],
    [{ constructor: "x" }, "unknown flag: --constructor"],
    [{ "authorization-mode": "RBAC,Nonsense" }, '"Nonsense" is not known'],
    [{ "authorization-mode": "toString" }, '"toString" is not known'],
    [{ "authorization-mode": "" }, "at least one --authorization-mode"],
    [{ "authorization-mode": "RBAC, RBAC" }, "a mode more than once"],
    [{ "enable-admission-plugins": "NodeRestrictions" }, '"NodeRestrictions" is unknown'],
    [{ "enable-admission-plugins": "AlwaysPullImages" }, '"AlwaysPullImages" is not part of this server'],
    [{ "disable-admission-plugins": "ServiceAcount" }, '"ServiceAcount" is unknown'],
    [
      { "disable-admission-plugins": "LimitRanger", "enable-admission-plugins": " LimitRanger" },
      "it cannot be both",
    ],
    [{ "service-cluster-ip-range": "10.0.0.0" }, 'invalid argument "10.0.0.0"'],
    [{ "default-not-ready-toleration-seconds": "soon" }, 'invalid argument "soon"'],
    [{ "service-account-max-token-expiration": "1 day" }, 'invalid argument "1 day"'],
  ])("%j is refused by name", async ([flags, sentence]) => {
    const started = apiServer({ flags });
    await expect(started).rejects.toThrow(FlagError);
    await expect(started).rejects.toThrow(sentence);
  });

  test("that turns off what only kube-apiserver has is taken", async () => {
    await using server = await apiServer({
      flags: { "disable-admission-plugins": "AlwaysPullImages, ServiceAccount" },
    });
    expect(server).toBeDefined();
  });
});

describe("white space in --authorization-mode", () => {
  const anonymous = { name: "system:anonymous", groups: ["system:unauthenticated"] };

  test("does not let nobody in where everything is allowed", async () => {
    for (const mode of ["RBAC,AlwaysAllow", "RBAC, AlwaysAllow", " AlwaysAllow "]) {
      await using server = await apiServer({ authorizationMode: mode });
      const { status } = await server.dispatch({
        method: "POST",
        target: "/api/v1/namespaces",
        headers: {},
        body: async () => new Uint8Array(),
        signal: new AbortController().signal,
      });
      expect(status).toBe(401);
    }
  });

  test("does not switch the check of escalation off", async () => {
    for (const mode of ["Node,RBAC", "Node, RBAC", " RBAC"]) {
      await using server = await Server.start({ authorizationMode: mode });
      const rbac = "/apis/rbac.authorization.k8s.io/v1";
      const meta = (name: string) => ({ apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name } });
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "author" };
      const writes = {
        apiGroups: ["rbac.authorization.k8s.io"],
        resources: ["clusterroles"],
        verbs: ["create"],
      };
      await server.post(`${rbac}/clusterroles`, { ...meta("author"), kind: "ClusterRole", rules: [writes] });
      await server.post(`${rbac}/clusterrolebindings`, {
        ...meta("author"),
        kind: "ClusterRoleBinding",
        roleRef,
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "author" }],
      });
      const all = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
      const { status } = await server.api.as({ name: "author", groups: [] }).request({
        method: "POST",
        path: `${rbac}/clusterroles`,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...meta("more"), kind: "ClusterRole", rules: [all] }),
      });
      expect(status).toBe(403);
    }
  });

  test("leaves nobody more than the public paths", async () => {
    await using server = await Server.start({ authorizationMode: " RBAC " });
    const { status } = await server.api.as(anonymous).request({ method: "GET", path: "/api/v1/secrets" });
    expect(status).toBe(403);
  });
});
