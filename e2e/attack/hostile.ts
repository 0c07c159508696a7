/** Single requests that are to break the server, or keep everybody else waiting. */

import type { ApiTarget, Asked } from "./api-target.ts";
import type { Attack } from "./attack.ts";

const core = "/api/v1/namespaces/default";
const maps = `${core}/configmaps`;
/** So long others may wait while one request is worked on, on a machine that is busy with other things too. */
const patienceMs = 5_000;

/** Sends the request, and asks for the server's health meanwhile: how long that takes at most is what others wait. */
export async function longestWait(
  target: ApiTarget,
  path: string,
  asked: Asked,
): Promise<{ waitedMs: number; status: number }> {
  let over = false;
  const answered = target.ask(path, { withinMs: 90_000, ...asked }).then(
    ({ status }) => status,
    () => 0,
  );
  void answered.finally(() => {
    over = true;
  });
  let waitedMs = 0;
  do {
    const began = performance.now();
    const { status } = await target.ask("/healthz", { withinMs: 90_000 });
    if (status !== 200) throw new Error(`/healthz is answered ${status}`);
    waitedMs = Math.max(waitedMs, performance.now() - began);
  } while (!over);
  return { waitedMs, status: await answered };
}

export interface HostileRequest {
  readonly id: string;
  readonly tries: string;
  readonly path: string;
  readonly asked: Asked;
  /** What must be there first. */
  readonly before?: readonly (readonly [path: string, body: unknown])[];
}

const post = (body: unknown, type = "application/json"): Asked => ({ method: "POST", body, type });
const patch = (body: unknown, type: string): Asked => ({ method: "PATCH", body, type });
const megabytes3 = 3 * 1024 * 1024 - 2048;
const existing = [[maps, { metadata: { name: "patched" }, data: { a: "x" } }]] as const;

const crd = (schema: object, name: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${name}.attack.example.com` },
  spec: {
    group: "attack.example.com",
    scope: "Namespaced",
    names: { plural: name, singular: name, kind: name[0]?.toUpperCase() + name.slice(1) },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: schema } } },
      },
    ],
  },
});

const policy = (expression: string) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: "slow" },
  spec: {
    matchConstraints: {
      resourceRules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
      ],
    },
    validations: [{ expression }],
  },
});

export const hostileRequests: readonly HostileRequest[] = [
  {
    id: "certificates",
    tries: "a TLS Secret with 27,000 beginnings of a certificate",
    path: `${core}/secrets`,
    asked: post({
      metadata: { name: "tls" },
      type: "kubernetes.io/tls",
      stringData: { "tls.crt": "-----BEGIN CERTIFICATE-----\n".repeat(27_000), "tls.key": "x" },
    }),
  },
  ...(["POST", "PATCH"] as const).flatMap((method) =>
    (
      [
        ["newlines", "\n".repeat(megabytes3)],
        ["faults", `a: "${"\\x".repeat(100_000)}`],
        ["tags", "! ".repeat(100_000)],
        ["brackets", "[".repeat(200_000)],
        ["aliases", `a: &a [x]\nb: [${"*a,".repeat(100_000)}]`],
      ] as const
    ).map(([id, body]) => ({
      id: `yaml ${id}, ${method}`,
      tries: `YAML of many ${id}`,
      path: method === "POST" ? maps : `${maps}/yaml?fieldManager=x`,
      asked: { method, body, type: method === "POST" ? "application/yaml" : "application/apply-patch+yaml" },
    })),
  ),
  {
    id: "json nesting",
    tries: "JSON nested a million times",
    path: maps,
    asked: post(`${'{"a":'.repeat(500_000)}1`),
  },
  {
    id: "json keys",
    tries: "an object of 300,000 unknown fields",
    path: maps,
    asked: post(
      `{"metadata":{"name":"k"},${Array.from({ length: 250_000 }, (_, i) => `"f${i}":1`).join(",")}}`,
    ),
  },
  {
    id: "json long keys",
    tries: "3,000 unknown fields with long names",
    path: maps,
    asked: post(
      `{"metadata":{"name":"l"},${Array.from({ length: 2_900 }, (_, i) => `"${"x".repeat(1000)}${i}":1`).join(",")}}`,
    ),
  },
  {
    id: "json repeated keys",
    tries: "one field 300,000 times",
    path: maps,
    asked: post(`{"metadata":{"name":"r"},"data":{${Array(200_000).fill('"a":"b"').join(",")}}}`),
  },
  {
    id: "big data",
    tries: "200,000 entries of data",
    path: maps,
    asked: post({
      metadata: { name: "d" },
      data: Object.fromEntries(Array.from({ length: 150_000 }, (_, i) => [`k${i}`, "v"])),
    }),
  },
  {
    id: "labels",
    tries: "100,000 labels",
    path: maps,
    asked: post({
      metadata: {
        name: "e",
        labels: Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, "v"])),
      },
    }),
  },
  {
    id: "owners",
    tries: "20,000 owners",
    path: maps,
    asked: post({
      metadata: {
        name: "o",
        ownerReferences: Array.from({ length: 20_000 }, (_, i) => ({
          apiVersion: "v1",
          kind: "Pod",
          name: `p${i}`,
          uid: `u${i}`,
        })),
      },
    }),
  },
  {
    id: "finalizers",
    tries: "100,000 finalizers",
    path: maps,
    asked: post({
      metadata: { name: "f", finalizers: Array.from({ length: 100_000 }, (_, i) => `a.b/c${i}`) },
    }),
  },
  {
    id: "containers",
    tries: "a pod of 5,000 containers",
    path: `${core}/pods`,
    asked: post({
      metadata: { name: "c" },
      spec: {
        containers: Array.from({ length: 5_000 }, (_, i) => ({
          name: `c${i}`,
          image: "i",
          env: Array.from({ length: 8 }, (_, j) => ({ name: `E${j}`, value: "$(E0)" })),
        })),
      },
    }),
  },
  {
    id: "ports",
    tries: "a service of 20,000 ports",
    path: `${core}/services`,
    asked: post({
      metadata: { name: "s" },
      spec: { ports: Array.from({ length: 20_000 }, (_, i) => ({ name: `p${i}`, port: (i % 65_535) + 1 })) },
    }),
  },
  {
    id: "copy bomb",
    tries: "24 copies of the object into itself",
    path: `${maps}/patched`,
    before: existing,
    asked: patch(
      Array.from({ length: 24 }, (_, i) => ({
        op: "copy",
        from: "",
        path: `/metadata/annotations/x${i}`,
      })).concat([]),
      "application/json-patch+json",
    ),
  },
  {
    id: "copy bomb in data",
    tries: "copies that double",
    path: `${maps}/patched`,
    before: existing,
    asked: patch(
      [
        { op: "add", path: "/data/b", value: "x".repeat(1000) },
        ...Array.from({ length: 30 }, () => ({ op: "copy", from: "/data", path: "/data/c" })),
      ],
      "application/json-patch+json",
    ),
  },
  {
    id: "long patch",
    tries: "10,000 operations of a JSON patch",
    path: `${maps}/patched`,
    before: existing,
    asked: patch(
      Array.from({ length: 10_000 }, (_, i) => ({
        op: "add",
        path: `/metadata/annotations/x${i}`,
        value: "y",
      })),
      "application/json-patch+json",
    ),
  },
  {
    id: "array patch",
    tries: "10,000 insertions at the beginning of a list",
    path: `${maps}/patched`,
    before: existing,
    asked: patch(
      [
        { op: "add", path: "/metadata/finalizers", value: [] },
        ...Array.from({ length: 9_999 }, (_, i) => ({
          op: "add",
          path: "/metadata/finalizers/0",
          value: `a.b/c${i}`,
        })),
      ],
      "application/json-patch+json",
    ),
  },
  {
    id: "label selector",
    tries: "a selector of 60 kilobytes",
    path: `${maps}?labelSelector=a+in+(${Array(3_000).fill("bbbb").join(",")})`,
    asked: {},
  },
  {
    id: "field selector",
    tries: "a field selector of many parts",
    path: `${maps}?fieldSelector=${Array(1_000).fill("metadata.name%3Da").join(",")}`,
    asked: {},
  },
  {
    id: "pattern of a schema",
    tries: "a schema with a pattern that backtracks",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    asked: post(crd({ type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" }, "slows")),
  },
  {
    id: "deep schema",
    tries: "a schema nested 500 times",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    asked: post(
      crd(
        Array.from({ length: 500 }).reduce<object>(
          (inner) => ({ type: "object", properties: { a: inner } }),
          { type: "string" },
        ),
        "deeps",
      ),
    ),
  },
  {
    id: "policy",
    tries: "a policy whose expression backtracks, over 3,000 keys",
    path: maps,
    before: [
      [
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        policy("object.data.all(k, !object.data[k].matches('((a{0,30}){0,30}x?)+$'))"),
      ],
      [
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        { metadata: { name: "slow" }, spec: { policyName: "slow", validationActions: ["Deny"] } },
      ],
    ],
    asked: post({
      metadata: { name: "policy" },
      data: Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`k${i}`, "a".repeat(30)])),
    }),
  },
];

/** The server answers all of them, and others do not wait. */
export const hostileAttacks: readonly Attack<ApiTarget>[] = hostileRequests.map((hostile) => ({
  id: hostile.id,
  tries: hostile.tries,
  async run(target) {
    for (const [path, body] of hostile.before ?? []) await target.mustCreate(path, body);
    const { waitedMs, status } = await longestWait(target, hostile.path, hostile.asked);
    if (status === 0 || status === 500) return `answered ${status}`;
    return waitedMs > patienceMs ? `others waited ${(waitedMs / 1000).toFixed(1)} s` : undefined;
  },
}));

const special = ["__proto__", "constructor", "toString"];

/** Names that every JavaScript object knows, and keys that its parser mixes up. */
export const nameAttacks: readonly Attack<ApiTarget>[] = [
  ...special.map(
    (name): Attack<ApiTarget> => ({
      id: `field selector ${name}`,
      tries: `selects by the field ${name}`,
      async run(target) {
        const { status } = await target.ask(`${maps}?fieldSelector=${name}!%3Dx`);
        return status === 400 ? undefined : `answered ${status}`;
      },
    }),
  ),
  {
    id: "poisoned keys",
    tries: "sends a key that the parser of Node takes for another in later texts",
    async run(target) {
      await target.ask(maps, post('{"a":1,"\\\\\\"":1}'));
      await target.ask(
        maps,
        post('{"metadata":{"name":"poison"},"data":{"k:{\\\\\\"name\\\\\\":\\\\\\"":"x"}}'),
      );
      const { body } = await target.ask(maps, post('{"metadata":{"name":"clean"},"data":{"a":"1","b":"2"}}'));
      return JSON.stringify(body?.data) === '{"a":"1","b":"2"}'
        ? undefined
        : `read ${JSON.stringify(body?.data)}`;
    },
  },
  {
    id: "warnings",
    tries: "makes the server send 300 kilobytes of warnings",
    async run(target) {
      const fields = Object.fromEntries(
        Array.from({ length: 3_000 }, (_, i) => [`${"x".repeat(100)}${i}`, 1]),
      );
      const { status } = await target.ask(maps, post({ metadata: { name: "warned" }, ...fields }));
      return status === 201 ? undefined : `answered ${status}`;
    },
  },
];
