/** What a role grants, asked for in every way that a path can be written. */
import { beforeAll, describe, expect, test } from "vitest";
import type { UserInfo } from "../src/contracts/authentication.ts";
import { isHijack } from "../src/messages/message.ts";
import type { ProxyTransport } from "../src/proxy/transport.ts";
import { type Answer, Server } from "./harness.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

/** A server on which `user` has the rules in the namespace `default`, and two ConfigMaps and Secrets are there. */
async function serverWith(
  user: string,
  rules: readonly object[],
  mode = "RBAC",
  transport?: ProxyTransport,
): Promise<Server> {
  const server = await Server.start({ authorizationMode: mode, ...(transport && { transport }) });
  for (const name of ["mine", "other"])
    for (const [kind, resource] of [
      ["ConfigMap", "configmaps"],
      ["Secret", "secrets"],
    ])
      await server.send("POST", `/api/v1/namespaces/default/${resource}`, {
        apiVersion: "v1",
        kind,
        metadata: { name },
      });
  const meta = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "limited" } };
  await server.send("POST", `${rbac}/roles`, { ...meta, kind: "Role", rules });
  await server.send("POST", `${rbac}/rolebindings`, {
    ...meta,
    kind: "RoleBinding",
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "limited" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  });
  return server;
}

async function ask(server: Server, user: UserInfo, method: string, path: string): Promise<Answer["status"]> {
  const abort = new AbortController();
  const response = await server.api.as(user).request({ method, path, headers: {}, signal: abort.signal });
  abort.abort();
  return response.status;
}

describe("a role for one object by its name", () => {
  let server: Server;
  const limited: UserInfo = { name: "limited", groups: [] };
  const rule = { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] };

  beforeAll(async () => {
    server = await serverWith("limited", [{ ...rule, resourceNames: ["mine"] }]);
    return () => server[Symbol.asyncDispose]();
  });

  const base = "/api/v1/namespaces/default/configmaps";
  const old = "/api/v1/watch/namespaces/default/configmaps";

  test.for<[string, number]>([
    [`${base}/mine`, 200],
    [`${base}/other`, 403],
    [base, 403],
    [`${base}?watch=1`, 403],
    [`${base}?fieldSelector=metadata.name%3Dmine`, 200],
    [`${base}?fieldSelector=metadata.name%3Dmine&watch=1`, 200],
    [`${base}?fieldSelector=metadata.name%3D%3Dmine,metadata.namespace%3Ddefault`, 200],
    [`${base}?fieldSelector=metadata.name%3Dother`, 403],
    [`${base}?fieldSelector=metadata.name!%3Dmine`, 403],
    [`${base}?fieldSelector=metadata.namespace%3Ddefault`, 403],
    [`${base}?fieldSelector=metadata.name%3Dmine%5C,x`, 403],
    [`${base}?fieldSelector=a%3Dmetadata.name%3Dmine`, 403],
    [`${base}?fieldSelector=metadata.name%3Dmine&fieldSelector=`, 200],
    [`${base}?fieldSelector=&fieldSelector=metadata.name%3Dmine`, 403],
    [`${old}/mine`, 200],
    [`${old}/mine?fieldSelector=metadata.name%3Dmine`, 200],
    [`${old}/mine?fieldSelector=metadata.namespace%3Ddefault`, 400],
    [`${old}/mine?fieldSelector=metadata.name%3Dother`, 400],
    [`${old}/mine?fieldSelector=metadata.name!%3Dmine`, 400],
    [`${old}/mine?fieldSelector=nonsense`, 400],
    [`${old}/other`, 403],
    [old, 403],
    [`${old}?fieldSelector=metadata.name%3Dmine`, 403],
    [`/api/v1/watch/configmaps`, 403],
    [`/api/v1/watch/configmaps?fieldSelector=metadata.name%3Dmine`, 403],
    [`/api/v1/configmaps?fieldSelector=metadata.name%3Dmine`, 403],
    [`${base}/mine%2F..%2Fother`, 403],
    [`/api/v1/namespaces/default/configmaps%2Fother`, 403],
  ])("answers %s with %i", async ([path, status]) => {
    expect(await ask(server, limited, "GET", path)).toBe(status);
  });

  test("takes no other method on a path that watches", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"])
      expect(await ask(server, limited, method, `${old}/mine`)).toBe(405);
  });
});

describe("a node", () => {
  const node: UserInfo = { name: "system:node:n", groups: ["system:nodes"] };
  let server: Server;

  beforeAll(async () => {
    server = await serverWith("nobody", [], "Node,RBAC");
    await server.send("POST", "/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: {
        nodeName: "n",
        containers: [{ name: "c", image: "i", envFrom: [{ secretRef: { name: "mine" } }] }],
      },
    });
    return () => server[Symbol.asyncDispose]();
  });

  test.for<[string, number]>([
    ["/api/v1/namespaces/default/secrets/mine", 200],
    ["/api/v1/namespaces/default/secrets/other", 403],
    ["/api/v1/namespaces/default/secrets", 403],
    ["/api/v1/watch/namespaces/default/secrets/mine", 200],
    ["/api/v1/watch/namespaces/default/secrets/mine?fieldSelector=metadata.namespace%3Ddefault", 400],
    ["/api/v1/pods?fieldSelector=spec.nodeName%3Dn", 200],
    ["/api/v1/pods?fieldSelector=spec.nodeName%3Dm", 403],
    ["/api/v1/pods?fieldSelector=spec.nodeName!%3Dn", 403],
    ["/api/v1/pods?fieldSelector=spec.nodeName%3Dm%5C,spec.nodeName%5C%3Dn", 403],
    ["/api/v1/watch/pods?fieldSelector=spec.nodeName%3Dn", 403],
  ])("is answered %s with %i", async ([path, status]) => {
    expect(await ask(server, node, "GET", path)).toBe(status);
  });
});

describe("a role that may only get exec, attach and portforward", () => {
  const reader: UserInfo = { name: "reader", groups: [] };
  const resources = ["pods/exec", "pods/attach", "pods/portforward"];
  const paths = ["exec?command=id&stdout=1", "attach?stdout=1", "portforward?ports=80"];
  const upgraded: string[] = [];
  const transport: ProxyTransport = {
    request: () => Promise.reject(new Error("nothing is asked here")),
    async upgrade(_, { path }) {
      upgraded.push(path);
      throw new Error("far enough");
    },
  };

  async function open(server: Server, path: string): Promise<number> {
    const answer = await server.api.dispatch(
      {
        method: "GET",
        target: `/api/v1/namespaces/default/pods/p/${path}`,
        headers: { connection: "upgrade", upgrade: "websocket" },
        body: async () => new Uint8Array(),
        signal: new AbortController().signal,
        canUpgrade: true,
      },
      reader,
    );
    if (isHijack(answer.body)) {
      const client = { accept: () => expect.unreachable(), refuse: () => undefined };
      await answer.body.hijack(client).catch(() => undefined);
    }
    return answer.status;
  }

  test.for<[string[], number]>([
    [["get"], 403],
    [["get", "create"], 101],
  ])("with the verbs %j is answered %i over WebSockets", async ([verbs, status]) => {
    await using server = await serverWith(
      "reader",
      [{ apiGroups: [""], resources, verbs }],
      "RBAC",
      transport,
    );
    await server.send("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n" } });
    const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
    await server.merge("/api/v1/nodes/n/status", { status: { addresses } });
    await server.send("POST", "/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
    });
    upgraded.length = 0;
    for (const path of paths) expect(await open(server, path)).toBe(status);
    expect(upgraded).toHaveLength(status === 101 ? paths.length : 0);
  });
});
