/** Every verb in every form of path, against what a role grants. */

import type { ApiTarget, Asked } from "./api-target.ts";
import type { Attack } from "./attack.ts";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly asked?: Asked;
  /** Whether one of the rules of the role grants it. */
  readonly granted: boolean;
}

interface Role {
  readonly user: string;
  readonly groups?: readonly string[];
  readonly rules: readonly object[];
  readonly requests: readonly Request[];
}

const core = "/api/v1/namespaces/default";
const old = "/api/v1/watch/namespaces/default";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const merge = { type: "application/merge-patch+json", body: { metadata: { labels: { a: "b" } } } };
const upgrade = {
  headers: {
    connection: "upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    "sec-websocket-protocol": "v5.channel.k8s.io",
  },
};

const of = (granted: boolean, method: string, ...paths: readonly string[]): Request[] =>
  paths.map((path) => ({ method, path, granted, ...(method === "PATCH" && { asked: merge }) }));

const binding = (name: string, role: string) => ({
  kind: "ClusterRoleBinding",
  metadata: { name },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
  subjects: [{ kind: "User", name: "reader", apiGroup: "rbac.authorization.k8s.io" }],
});

/** A role, and what its bearer tries. */
export const roles: Readonly<Record<string, Role>> = {
  "one object by name": {
    user: "by-name",
    rules: [
      {
        apiGroups: [""],
        resources: ["configmaps"],
        verbs: ["get", "list", "watch"],
        resourceNames: ["mine"],
      },
    ],
    requests: [
      ...of(true, "GET", `${core}/configmaps/mine`, `${old}/configmaps/mine`),
      ...of(true, "GET", `${core}/configmaps?fieldSelector=metadata.name%3Dmine`),
      ...of(true, "GET", `${core}/configmaps?watch=1&fieldSelector=metadata.name%3Dmine`),
      ...of(
        false,
        "GET",
        `${core}/configmaps`,
        `${core}/configmaps/other`,
        `${core}/configmaps?watch=1`,
        `${core}/configmaps?fieldSelector=metadata.name!%3Dmine`,
        `${core}/configmaps?fieldSelector=metadata.namespace%3Ddefault`,
        `${core}/configmaps?fieldSelector=&fieldSelector=metadata.name%3Dmine`,
        `${core}/configmaps?fieldSelector=metadata.name%3Dmine%5C,x`,
        `${old}/configmaps`,
        `${old}/configmaps/other`,
        `${old}/configmaps/mine?fieldSelector=metadata.namespace%3Ddefault`,
        `${old}/configmaps/mine?fieldSelector=metadata.name%3Dother`,
        "/api/v1/watch/configmaps?fieldSelector=metadata.name%3Dmine",
        `${core}/configmaps/mine%2F..%2Fother`,
        `${core}/configmaps%2Fother`,
        `${core}//configmaps/other`,
        `${core}/./configmaps/other`,
        `/api/v1/namespaces/other/../default/configmaps/other`,
        `${core}/secrets/mine`,
        `${core}/configmaps/mine/status`,
      ),
      ...of(false, "PUT", `${core}/configmaps/mine`, `${old}/configmaps/mine`),
      ...of(false, "PATCH", `${core}/configmaps/mine`),
      ...of(false, "DELETE", `${core}/configmaps/mine`, `${core}/configmaps`),
      ...of(false, "POST", `${core}/configmaps`, `${old}/configmaps`),
    ],
  },
  "the right to get exec, attach and portforward": {
    user: "getter",
    rules: [{ apiGroups: [""], resources: ["pods/exec", "pods/attach", "pods/portforward"], verbs: ["get"] }],
    requests: ["exec?command=id&stdout=1", "attach?stdout=1", "portforward?ports=80"].flatMap((what) => [
      { method: "GET", path: `${core}/pods/p/${what}`, asked: upgrade, granted: false },
      { method: "POST", path: `${core}/pods/p/${what}`, granted: false },
    ]),
  },
  "the right to read everything": {
    user: "reader",
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] }],
    requests: [
      ...of(true, "GET", `${core}/secrets`, "/api/v1/nodes", `${old}/secrets/mine`),
      ...of(false, "DELETE", `${core}/configmaps/other`, `${core}/configmaps`),
      ...of(false, "PATCH", `${core}/configmaps/other`, "/api/v1/nodes/n/status"),
      {
        method: "POST",
        path: `${core}/serviceaccounts/default/token`,
        granted: false,
        asked: { body: { spec: {} } },
      },
      {
        method: "POST",
        path: `${rbac}/clusterrolebindings`,
        granted: false,
        asked: { body: binding("x", "cluster-admin") },
      },
      { method: "GET", path: "/metrics", granted: false },
      { method: "GET", path: "/logs", granted: false },
    ],
  },
  "the right to write roles and bindings": {
    user: "binder",
    rules: [
      {
        apiGroups: ["rbac.authorization.k8s.io"],
        resources: ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
        verbs: ["create", "update", "patch", "get", "list"],
      },
    ],
    requests: [
      {
        method: "POST",
        path: `${rbac}/clusterrolebindings`,
        granted: false,
        asked: { body: binding("y", "cluster-admin") },
      },
      {
        method: "POST",
        path: `${rbac}/clusterroles`,
        granted: false,
        asked: {
          body: {
            kind: "ClusterRole",
            metadata: { name: "all" },
            rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
          },
        },
      },
      {
        method: "POST",
        path: `${rbac}/clusterroles`,
        granted: false,
        asked: {
          body: {
            kind: "ClusterRole",
            metadata: { name: "gathers" },
            aggregationRule: {
              clusterRoleSelectors: [{ matchLabels: { "kubernetes.io/bootstrapping": "rbac-defaults" } }],
            },
          },
        },
      },
      {
        method: "PATCH",
        path: `${rbac}/clusterroles/view`,
        granted: false,
        asked: { type: merge.type, body: { rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] } },
      },
      {
        method: "PATCH",
        path: `${rbac}/clusterrolebindings/cluster-admin?fieldManager=x&force=true`,
        granted: false,
        asked: {
          type: "application/apply-patch+yaml",
          body: { apiVersion: "rbac.authorization.k8s.io/v1", ...binding("cluster-admin", "cluster-admin") },
        },
      },
    ],
  },
  "a node's identity": {
    user: "system:node:n",
    groups: ["system:nodes"],
    rules: [],
    requests: [
      ...of(
        true,
        "GET",
        "/api/v1/nodes/n",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Dn",
        `${core}/secrets/mine`,
      ),
      ...of(
        false,
        "GET",
        "/api/v1/pods",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Dm",
        `${core}/secrets/other`,
        `${core}/secrets`,
        `${old}/secrets/mine?fieldSelector=metadata.namespace%3Ddefault`,
        `${core}/configmaps`,
      ),
      ...of(false, "PATCH", "/api/v1/nodes/m", "/api/v1/nodes/m/status", `${core}/pods/q/status`),
      {
        method: "PATCH",
        path: "/api/v1/nodes/n",
        granted: false,
        asked: {
          type: merge.type,
          body: { metadata: { labels: { "node-restriction.kubernetes.io/x": "y" } } },
        },
      },
      {
        method: "PATCH",
        path: "/api/v1/nodes/n",
        granted: false,
        asked: { type: merge.type, body: { spec: { taints: [], unschedulable: true } } },
      },
      {
        method: "POST",
        path: `${core}/serviceaccounts/default/token`,
        granted: false,
        asked: { body: { spec: {} } },
      },
      {
        method: "POST",
        path: `${core}/pods`,
        granted: false,
        asked: {
          body: {
            metadata: { name: "new" },
            spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
          },
        },
      },
      ...of(false, "DELETE", `${core}/pods/q`, "/api/v1/nodes/n"),
    ],
  },
  "nothing, without credentials": {
    user: "system:anonymous",
    groups: ["system:unauthenticated"],
    rules: [],
    requests: [
      ...of(true, "GET", "/healthz", "/version"),
      ...of(
        false,
        "GET",
        "/api",
        "/api/v1/pods",
        "/metrics",
        "/openapi/v3",
        "/%zz",
        "/..%2fapi/v1/pods",
        "//api/v1/pods",
      ),
      ...of(false, "POST", "/api/v1/namespaces"),
      {
        method: "GET",
        path: "/api/v1/pods",
        granted: false,
        asked: { headers: { "impersonate-user": "admin", "impersonate-group": "system:masters" } },
      },
      {
        method: "GET",
        path: "/api/v1/pods",
        granted: false,
        asked: { headers: { "x-remote-user": "admin", "x-remote-group": "system:masters" } },
      },
    ],
  },
};

/** Makes the users and what they are after. */
export async function prepareRoles(target: ApiTarget): Promise<void> {
  for (const name of ["mine", "other"])
    for (const kind of ["configmaps", "secrets"])
      await target.mustCreate(`${core}/${kind}`, { metadata: { name } });
  for (const name of ["n", "m"]) await target.mustCreate("/api/v1/nodes", { metadata: { name } });
  await target.mustCreate(`${core}/serviceaccounts`, { metadata: { name: "default" } });
  const pod = (name: string, nodeName: string, secret: string) => ({
    metadata: { name },
    spec: { nodeName, containers: [{ name: "c", image: "i", envFrom: [{ secretRef: { name: secret } }] }] },
  });
  await target.mustCreate(`${core}/pods`, pod("p", "n", "mine"));
  await target.mustCreate(`${core}/pods`, pod("q", "m", "other"));
  for (const { user, rules } of Object.values(roles)) {
    if (rules.length === 0) continue;
    await target.mustCreate(`${rbac}/clusterroles`, { metadata: { name: user }, rules });
    await target.mustCreate(`${rbac}/clusterrolebindings`, {
      metadata: { name: user },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: user },
      subjects: [{ kind: "User", name: user, apiGroup: "rbac.authorization.k8s.io" }],
    });
  }
}

export async function statusFor(
  target: ApiTarget,
  role: Role,
  { method, path, asked }: Request,
): Promise<number> {
  const { user, groups = [] } = role;
  const who = user === "system:anonymous" ? { token: "" } : { user, groups };
  return (await target.ask(path, { method, ...asked, ...who })).status;
}

/** `expected` are the statuses of the real server, by the attack's id; without them, what the role grants decides. */
export function authorizationAttacks(expected: ReadonlyMap<string, number>): Attack<ApiTarget>[] {
  return Object.entries(roles).flatMap(([name, role]) =>
    role.requests.map((request, index): Attack<ApiTarget> => {
      const id = `${name}, ${index + 1}`;
      return {
        id,
        tries: `${request.method} ${request.path} with ${name}`,
        async run(target) {
          const status = await statusFor(target, role, request);
          const wanted = expected.get(id);
          if (!request.granted && status < 400) return `answered ${status}`;
          if (request.granted && status >= 400) return `answered ${status}, although the role grants it`;
          // 404 and 405 come before or after 403 in both; what matters is that neither lets in what the other does not.
          if (wanted !== undefined && wanted < 400 !== status < 400)
            return `answered ${status}, by kube-apiserver ${wanted}`;
          return undefined;
        },
      };
    }),
  );
}
