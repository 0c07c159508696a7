// Sequences of writes by several managers, random from a fixed seed.
import { apps, crd, group, install, objectSchema, test, widgets } from "./_lib.mjs";

let seed = 7;

const random = () => {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return seed / 0x7fffffff;
};

const pick = (a) => a[Math.floor(random() * a.length)];

const maybe = (p, v) => (random() < p ? v() : undefined);

const clean = (o) => Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined));

const letters = ["a", "b", "c"];

const stringMap = (vals = ["1", "2"]) =>
  Object.fromEntries(letters.filter(() => random() < 0.4).map((k) => [k, pick(vals)]));

const stringMapWithNulls = () =>
  Object.fromEntries(
    letters.filter(() => random() < 0.4).map((k) => [k, random() < 0.3 ? null : pick(["1", "2"])]),
  );

const meta = (n) =>
  clean({
    name: n,
    labels: maybe(0.3, () => stringMap()),
    annotations: maybe(0.3, () => stringMap()),
    finalizers: maybe(0.1, () => [pick(["a.b/c", "d.e/f"])]),
  });

const container = (n) =>
  clean({
    name: n,
    image: maybe(0.8, () => pick(["x", "y"])),
    env: maybe(0.4, () =>
      letters.filter(() => random() < 0.4).map((k) => ({ name: k, value: pick(["1", "2"]) })),
    ),
    ports: maybe(0.3, () =>
      [80, 81]
        .filter(() => random() < 0.5)
        .map((p) =>
          clean({
            containerPort: p,
            protocol: maybe(0.4, () => pick(["TCP", "UDP"])),
            name: maybe(0.3, () => `p${p}`),
          }),
        ),
    ),
    args: maybe(0.3, () => [pick(["1", "2"])]),
    resources: maybe(0.3, () => ({ limits: { cpu: pick(["1", "1000m", "2"]) } })),
  });

const deploymentSpec = (full) =>
  clean({
    replicas: maybe(0.5, () => pick([1, 2, 3])),
    paused: maybe(0.2, () => pick([true, false])),
    minReadySeconds: maybe(0.2, () => pick([0, 5])),
    strategy: maybe(0.3, () =>
      pick([
        { type: "Recreate" },
        { rollingUpdate: { maxSurge: pick([1, "25%", "30%"]) } },
        { type: "RollingUpdate" },
      ]),
    ),
    selector: full ? { matchLabels: { app: "d" } } : undefined,
    template:
      full || random() < 0.6
        ? clean({
            metadata: full
              ? { labels: { app: "d", ...stringMap() } }
              : maybe(0.3, () => ({ labels: { ...stringMap(), app: "d" } })),
            spec: clean({
              containers: full
                ? [
                    { image: "x", ...container("m") },
                    ...(random() < 0.3 ? [{ image: "x", ...container("n") }] : []),
                  ]
                : maybe(0.7, () => ["m", "n"].filter(() => random() < 0.5).map(container)),
              nodeSelector: maybe(0.3, () => stringMap()),
              tolerations: maybe(0.2, () => [{ key: pick(letters), operator: "Exists" }]),
              volumes: maybe(0.2, () =>
                ["v", "w"].filter(() => random() < 0.5).map((n) => ({ name: n, emptyDir: {} })),
              ),
              terminationGracePeriodSeconds: maybe(0.2, () => pick([1, 30])),
            }),
          })
        : undefined,
  });

const randomDeployment = (full) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: meta("d"),
  spec: deploymentSpec(full),
});

const deploymentPath = `${apps}/deployments/d`;

const manager = () => pick(["m1", "m2", "m3"]);

const writeDeployment = (t) => {
  const chance = random();
  if (chance < 0.35)
    t.apply(deploymentPath, randomDeployment(random() < 0.6), manager(), {
      query: random() < 0.5 ? { force: "true" } : {},
    });
  else if (chance < 0.5)
    t.merge(
      deploymentPath,
      { metadata: random() < 0.3 ? { labels: stringMapWithNulls() } : {}, spec: deploymentSpec(false) },
      { query: { fieldManager: manager() } },
    );
  else if (chance < 0.68)
    t.strategic(
      deploymentPath,
      {
        spec: deploymentSpec(false),
        ...(random() < 0.2
          ? { metadata: { labels: stringMapWithNulls(), annotations: { $patch: "replace", ...stringMap() } } }
          : {}),
      },
      { query: { fieldManager: manager() } },
    );
  else if (chance < 0.75)
    t.put(deploymentPath, randomDeployment(true), { query: { fieldManager: manager() } });
  else if (chance < 0.8)
    t.merge(
      `${deploymentPath}/scale`,
      { spec: { replicas: pick([1, 2, 5]) } },
      { query: { fieldManager: manager() } },
    );
  else if (chance < 0.87)
    t.apply(
      `${deploymentPath}/status`,
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d" },
        status: clean({
          replicas: maybe(0.5, () => pick([1, 2])),
          conditions: maybe(0.5, () => [
            { type: pick(["Available", "Progressing"]), status: pick(["True", "False"]) },
          ]),
        }),
      },
      manager(),
      { query: random() < 0.5 ? { force: "true" } : {} },
    );
  else if (chance < 0.92)
    t.json(
      deploymentPath,
      [
        pick([
          { op: "replace", path: "/spec/replicas", value: 4 },
          { op: "remove", path: "/spec/template/spec/containers/1" },
          { op: "add", path: "/metadata/labels", value: { z: "1" } },
          { op: "test", path: "/spec/replicas", value: 2 },
          { op: "add", path: "/spec/template/spec/containers/0/env", value: [{ name: "q", value: "1" }] },
        ]),
      ],
      { query: { fieldManager: manager() } },
    );
  else if (chance < 0.95) t.del(deploymentPath);
  else t.post(`${apps}/deployments`, randomDeployment(true));
};

const widgetPath = `${widgets}/w`;

const widgetSchema = objectSchema({
  spec: objectSchema({
    n: { type: "integer", default: 3, maximum: 8 },
    s: { type: "string" },
    m: { type: "object", additionalProperties: { type: "string" } },
    at: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: { type: "string" } },
    set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    l: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: {
        type: "object",
        required: ["k"],
        properties: {
          k: { type: "string" },
          v: { type: "integer", default: 1 },
          o: { type: "object", properties: { x: { type: "string" }, y: { type: "string" } } },
        },
      },
    },
    al: { type: "array", items: { type: "string" } },
    o: {
      type: "object",
      properties: {
        x: { type: "string" },
        p: { type: "object", properties: { q: { type: "string", default: "z" } } },
      },
    },
    any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    ios: { "x-kubernetes-int-or-string": true },
    nu: { type: "string", nullable: true },
  }),
  status: {
    type: "object",
    properties: {
      r: { type: "integer" },
      c: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        items: {
          type: "object",
          required: ["type"],
          properties: { type: { type: "string" }, s: { type: "string" } },
        },
      },
    },
  },
});

const widgetSpec = (nulls) =>
  clean({
    n: maybe(0.4, () => pick([1, 2, 9])),
    s: maybe(0.4, () => (nulls && random() < 0.3 ? null : pick(["x", "y"]))),
    m: maybe(0.4, () => (nulls ? stringMapWithNulls() : stringMap())),
    at: maybe(0.3, () => stringMap()),
    set: maybe(0.4, () => letters.filter(() => random() < 0.5)),
    l: maybe(0.5, () =>
      letters
        .filter(() => random() < 0.5)
        .map((k) =>
          clean({
            k,
            v: maybe(0.5, () => pick([1, 2])),
            o: maybe(0.4, () => clean({ x: maybe(0.5, () => pick(["1", "2"])), y: maybe(0.5, () => "3") })),
          }),
        ),
    ),
    al: maybe(0.3, () => letters.filter(() => random() < 0.5)),
    o: maybe(0.4, () =>
      clean({
        x: maybe(0.5, () => pick(["1", "2"])),
        p: maybe(0.5, () => clean({ q: maybe(0.4, () => "w") })),
      }),
    ),
    any: maybe(0.3, () =>
      clean({ a: maybe(0.6, () => pick([1, "s", { b: 1 }, [1, 2]])), z: maybe(0.4, () => stringMap()) }),
    ),
    ios: maybe(0.2, () => pick([1, "1"])),
    nu: maybe(0.2, () => pick([null, "q"])),
  });

const randomWidget = () => ({
  apiVersion: `${group}/v1`,
  kind: "Widget",
  metadata: meta("w"),
  ...(random() < 0.9 ? { spec: widgetSpec(false) } : {}),
  ...(random() < 0.2 ? { status: { r: 1 } } : {}),
});

const writeWidget = (t) => {
  const chance = random();
  if (chance < 0.45)
    t.apply(widgetPath, randomWidget(), manager(), { query: random() < 0.5 ? { force: "true" } : {} });
  else if (chance < 0.7)
    t.merge(
      widgetPath,
      {
        spec: widgetSpec(true),
        ...(random() < 0.2 ? { metadata: { labels: stringMapWithNulls() } } : {}),
        ...(random() < 0.1 ? { status: { r: 2 } } : {}),
      },
      { query: { fieldManager: manager() } },
    );
  else if (chance < 0.78)
    t.get(widgetPath, { silent: true, save: { RV: (b) => b.metadata?.resourceVersion ?? "0" } }).put(
      widgetPath,
      (() => {
        const o = randomWidget();
        return { ...o, metadata: { ...o.metadata, resourceVersion: "$RV" } };
      })(),
      { query: { fieldManager: manager() } },
    );
  else if (chance < 0.88)
    t.apply(
      `${widgetPath}/status`,
      {
        apiVersion: `${group}/v1`,
        kind: "Widget",
        metadata: { name: "w" },
        status: clean({
          r: maybe(0.5, () => pick([1, 2])),
          c: maybe(0.6, () =>
            letters
              .filter(() => random() < 0.5)
              .map((type) => clean({ type, s: maybe(0.6, () => pick(["T", "F"])) })),
          ),
        }),
      },
      manager(),
      { query: random() < 0.5 ? { force: "true" } : {} },
    );
  else if (chance < 0.93)
    t.json(
      widgetPath,
      [
        pick([
          { op: "remove", path: "/spec/l/0" },
          { op: "add", path: "/spec/set/-", value: "z" },
          { op: "add", path: "/spec/m", value: { q: "1" } },
          { op: "remove", path: "/spec" },
        ]),
      ],
      { query: { fieldManager: manager() } },
    );
  else if (chance < 0.96) t.del(widgetPath);
  else t.post(widgets, randomWidget());
};

const count = 12;

export default [
  ...Array.from({ length: count }, (_, i) =>
    test(`Deployment write: random writes by three managers, sequence ${i}`, (t) => {
      t.post(`${apps}/deployments`, randomDeployment(true));
      for (let k = 0; k < 14; k++) writeDeployment(t);
    }),
  ),
  ...Array.from({ length: count }, (_, i) =>
    test(`Widget write: random writes by three managers, sequence ${i}`, (t) => {
      install(t, crd(widgetSchema, {}, { subresources: { status: {} } }));
      for (let k = 0; k < 16; k++) writeWidget(t);
    }),
  ),
];
