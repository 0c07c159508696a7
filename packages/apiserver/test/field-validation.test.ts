/** What strict decoding says, and in which order, as the real server was seen to. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Server } from "./harness.ts";

let server: Server;
beforeAll(async () => {
  server = await Server.start();
  await server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
      scope: "Cluster",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: { spec: { type: "object", properties: { foo: { type: "string" } } } },
            },
          },
        },
      ],
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const strict = { query: { fieldValidation: "Strict" } };

test("problems of a built-in kind come in the order in which they are written", async () => {
  const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","junk":{"x":1,"x":2},"labels":{},"labels":{}},
    "more":1,"data":{"k":"1","k":"2"},"more":2}`;
  const { body: answer } = await server.post("/api/v1/namespaces/default/configmaps", body, strict);
  expect(answer.message).toContain(
    'strict decoding error: unknown field "metadata.junk", duplicate field "metadata.labels", unknown field "more", duplicate field "data.k"',
  );
});

test("repeated keys of YAML are named with their lines, before what is unknown", async () => {
  const body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  name: b\nzzz: 1\naaa: 1\n";
  const { body: answer } = await server.post("/api/v1/namespaces/default/configmaps", body, {
    ...strict,
    type: "application/yaml",
  });
  expect(answer.message).toContain(
    'strict decoding error: yaml: unmarshal errors:\n  line 5: key "name" already set in map, unknown field "aaa", unknown field "zzz"',
  );
});

const thing = (spec: string) => `
apiVersion: example.com/v1
kind: Thing
metadata:
  name: t
spec:
${spec}`;

test("repeated keys of an applied configuration are named with their lines", async () => {
  const path = "/apis/example.com/v1/things/t";
  const refused = await server.apply(path, thing("  # one line more\n  foo: a\n  foo: b\n"), "m", {
    fieldValidation: "Strict",
  });
  expect(refused.body.message).toBe(
    'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 9: key "foo" already set in map',
  );
  const warned = await server.apply(path, thing("  foo: a\n  foo: b\n"), "m", { fieldValidation: "Warn" });
  expect(warned.headers.warning).toEqual(['299 - "line 8: key \\"foo\\" already set in map"']);
});

test("problems of a custom resource are its repeated keys, then what is unknown", async () => {
  const body = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"u"},"spec":{"junk":1,"foo":"a","foo":"b"}}`;
  const { body: answer } = await server.post("/apis/example.com/v1/things", body, strict);
  expect(answer.message).toContain(
    'strict decoding error: duplicate field "spec.foo", unknown field "spec.junk"',
  );
});

test("a review that is asked for as a table is not acceptable", async () => {
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: { verb: "get", resource: "pods" } },
  };
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  expect((await server.post(path, review, { headers: { accept } })).status).toBe(406);
  expect((await server.send("GET", "/api/v1/namespaces", undefined, { headers: { accept } })).status).toBe(
    200,
  );
});

test("a hundred problems are named and no more", async () => {
  const unknown = Array.from({ length: 150 }, (_, i) => `"f${i}":1`).join(",");
  const path = "/api/v1/namespaces/default/configmaps";
  const { body: answer } = await server.post(path, `{"metadata":{"name":"b"},${unknown}}`, strict);
  expect(answer.message.match(/unknown field/g)).toHaveLength(100);
  expect(answer.message).toMatch(/unknown field "f99"$/);
});
