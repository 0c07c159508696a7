/** Names that every JavaScript object answers to, wherever a client may choose a name. */
import { describe, expect, test } from "vitest";
import { configMap, configMaps, Server } from "./harness.ts";

const special = ["__proto__", "constructor", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf"];

describe("a name that JavaScript finds special", () => {
  test("is no field to select by", async () => {
    await using server = await Server.start();
    await server.post(configMaps, configMap("a"));
    for (const name of special)
      for (const operator of ["=", "==", "!="])
        for (const path of [configMaps, "/api/v1/pods", "/api/v1/nodes", "/apis/batch/v1/jobs"]) {
          const answer = await server.get(path, { fieldSelector: `${name}${operator}x` });
          expect([path, name, operator, answer.status]).toEqual([path, name, operator, 400]);
        }
  });

  test("is an extra of a user like any other", async () => {
    await using server = await Server.start();
    for (const name of special) {
      const answer = await server.send(
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
        {
          headers: { "impersonate-user": "joe", [`impersonate-extra-${name.toLowerCase()}`]: "x" },
        },
      );
      expect(answer.status).toBe(201);
      expect(Object.entries(answer.body.status.userInfo.extra)).toContainEqual([name.toLowerCase(), ["x"]]);
    }
  });

  test("is neither a group, a version, a resource, a subresource nor a verb", async () => {
    await using server = await Server.start();
    for (const name of special)
      for (const path of [
        `/${name}`,
        `/api/${name}`,
        `/api/v1/${name}`,
        `/apis/${name}`,
        `/apis/${name}/v1/${name}`,
        `/apis/apps/${name}`,
        `/apis/apps/v1/${name}`,
        `/api/v1/namespaces/default/pods/p/${name}`,
        `/api/v1/namespaces/default/${name}/p`,
        `/openapi/v3/apis/${name}/v1`,
        `/readyz/${name}`,
      ]) {
        expect([path, (await server.get(path)).status]).toEqual([path, 404]);
        expect((await server.send(name, path)).status).toBeLessThan(500);
      }
  });

  test("is refused, or kept as it is, in bodies", async () => {
    await using server = await Server.start();
    for (const name of special) {
      const bodies: [string, string, unknown, string?][] = [
        ["POST", configMaps, { apiVersion: name, kind: "ConfigMap", metadata: { name: "a" } }],
        ["POST", configMaps, { apiVersion: "v1", kind: name, metadata: { name: "a" } }],
        ["POST", "/api/v1/namespaces/default/pods", pod({ resources: { limits: { cpu: `1${name}` } } })],
        ["POST", "/api/v1/namespaces/default/pods", pod({ imagePullPolicy: name })],
        [
          "POST",
          "/apis/batch/v1/namespaces/default/cronjobs",
          { metadata: { name: "c" }, spec: { schedule: name } },
        ],
        [
          "POST",
          "/apis/batch/v1/namespaces/default/cronjobs",
          { metadata: { name: "c" }, spec: { schedule: `@${name}` } },
        ],
        ["PATCH", `${configMaps}/none`, [{ op: name, path: "/data" }], "application/json-patch+json"],
      ];
      for (const [method, path, body, type] of bodies) {
        const { status } = await server.send(method, path, body, { ...(type && { type }) });
        expect([name, path, status >= 400 && status < 500]).toEqual([name, path, true]);
      }
      const kept = await server.post(configMaps, `{"metadata":{"generateName":"k-"},"data":{"${name}":"x"}}`);
      expect(kept.status).toBe(201);
      expect(kept.text).toContain(`"${name}":"x"`);
    }
  });
});

// Kubernetes takes every character but / and % in the names of roles, so they must not confuse keys and pages.
test("roles whose names hold control characters are each found once, page by page", async () => {
  await using server = await Server.start();
  const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  const names = ["a", "a\u0000", "a\u0000b", "a\u0001", "a b", "a~"];
  for (const name of names)
    expect((await server.post(roles, { metadata: { name }, rules: [] })).status).toBe(201);
  const found: string[] = [];
  let next: string | undefined;
  do {
    const { body } = await server.get(roles, { limit: "1", ...(next && { continue: next }) });
    found.push(...body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name));
    next = body.metadata.continue;
  } while (next);
  expect(found).toEqual([...names].sort());
  for (const name of names)
    expect((await server.get(`${roles}/${encodeURIComponent(name)}`)).body.metadata.name).toBe(name);
});

const pod = (container: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "i", ...container }] },
});
