// The given cases about config maps, played with other kinds: what they put into data goes into annotations.
import { account } from "./_lib.mjs";

const suites = await Promise.all(
  ["crud", "listwatch", "metadata", "patch", "ssa", "table"].map(async (s) => [
    s,
    (await import(`../../cases/${s}.mjs`)).default,
  ]),
);

const kinds = {
  secrets: ["v1", "Secret", "/api/v1", {}],
  leases: ["coordination.k8s.io/v1", "Lease", "/apis/coordination.k8s.io/v1", { spec: {} }],
  services: ["v1", "Service", "/api/v1", { spec: { clusterIP: "None", ports: [{ port: 80 }] } }],
  persistentvolumeclaims: [
    "v1",
    "PersistentVolumeClaim",
    "/api/v1",
    { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
  ],
  statefulsets: [
    "apps/v1",
    "StatefulSet",
    "/apis/apps/v1",
    {
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "m", image: "i" }] } },
      },
    },
  ],
};

function bodyFor(body, kind, create) {
  const [apiVersion, name, , rest] = kinds[kind];
  if (Array.isArray(body))
    return body.map((op) =>
      op && typeof op === "object"
        ? {
            ...op,
            ...(op.path ? { path: op.path.replace(/^\/data/, "/metadata/annotations") } : {}),
            ...(op.from ? { from: op.from.replace(/^\/data/, "/metadata/annotations") } : {}),
          }
        : op,
    );
  if (!body || typeof body !== "object") return body;
  const { data, binaryData, immutable, ...other } = body;
  const out = { ...other };
  if (body.kind === "ConfigMap") {
    out.kind = name;
    if (body.apiVersion === "v1") out.apiVersion = apiVersion;
  }
  if (data !== undefined && typeof data === "object")
    out.metadata = {
      ...out.metadata,
      ...(data === null
        ? { annotations: null }
        : Object.keys(data).length
          ? { annotations: { ...out.metadata?.annotations, ...data } }
          : {}),
    };
  return create ? { ...structuredClone(rest), ...out } : out;
}

function pathFor(s, kind) {
  const [_apiVersion, _name, prefix] = kinds[kind];
  return s
    .replaceAll("/api/v1/namespaces/$NS/configmaps", `${prefix}/namespaces/$NS/${kind}`)
    .replaceAll("/api/v1/configmaps", `${prefix}/${kind}`)
    .replace(
      /\/api\/v1\/namespaces\/(not-there-\$ID|elsewhere)\/configmaps/g,
      `${prefix}/namespaces/$1/${kind}`,
    );
}

function stepFor(s, kind) {
  if (s.sleep) return s;
  const out = { ...s, path: pathFor(s.path, kind) };
  if (s.during) out.during = s.during.map((x) => stepFor(x, kind));
  if (s.body !== undefined && s.path.includes("configmaps")) {
    if (typeof s.body === "string") {
      out.body = s.body.includes("ConfigMap")
        ? s.body
            .replace("ConfigMap", kinds[kind][1])
            .replace("v1", kinds[kind][0])
            .replace(/"data":|data:/, (m) => (m.startsWith('"') ? '"x-data":' : "x-data:"))
        : s.body;
    } else
      out.body = bodyFor(
        s.body,
        kind,
        s.method === "POST" || s.method === "PUT" || s.type === "application/apply-patch+yaml",
      );
  }
  return { managed: true, ...out };
}

// Columns have descriptions, which are not ours to repeat; the YAML bodies exist for config maps only.
const skipped = new Set(["includeObject", "YAML bodies are accepted"]);

export default Object.keys(kinds).flatMap((kind) =>
  suites.flatMap(([suite, tests]) =>
    tests
      .filter((t) => JSON.stringify(t.steps).includes("/configmaps") && !skipped.has(t.name))
      .map((t) => ({
        ...t,
        name: `${kind} ${suite}: ${t.name}`,
        steps: [account, ...t.steps.map((s) => stepFor(s, kind))],
      })),
  ),
);
