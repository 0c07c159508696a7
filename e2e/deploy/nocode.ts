/** Operators without code in pods: a graph, a hook behind its Service, and plans, under the role of their installation. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dynamicKind } from "keelson";
import { ConfigMap, Deployment, Pod, Secret, Service, SubjectAccessReview } from "keelson/kinds";
import { seconds, timed } from "../promises/promises.ts";
import { keelson, type Setting, soon } from "./setting.ts";

const image = "keelson-nocode:e2e";
const at = (name: string) => ({ namespace: "default", name });

const graph = (kind: string) => `apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: { name: notes }
spec:
  schema: { apiVersion: v1alpha1, kind: Note, spec: { text: string | default="hello" } }
  resources:
  - id: made
    template:
      apiVersion: v1
      kind: ${kind}
      metadata: { name: "\${schema.metadata.name}-note" }
`;

const hook = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: nests.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { kind: Nest, plural: nests, singular: nest }
  versions:
  - name: v1
    served: true
    storage: true
    subresources: { status: {} }
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: { name: nests }
spec:
  generateSelector: true
  parentResource: { apiVersion: example.com/v1, resource: nests }
  childResources: [{ apiVersion: v1, resource: configmaps, updateStrategy: { method: InPlace } }]
  hooks: { sync: { webhook: { service: { name: hook, namespace: default, port: 80 }, path: /sync } } }
`;

const plan = `apiVersion: plans.keelson.dev/v1alpha1
kind: PlanDefinition
metadata: { name: wiki }
spec:
  resource: { group: example.com, version: v1, kind: Wiki }
  parameters: { text: { type: string, default: hello } }
  plans:
    deploy:
      phases:
      - name: run
        steps:
        - name: page
          apply: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: "\${name}-page" }, data: { text: "\${parameters.text}" } }]
`;

/** The program of the hook: one ConfigMap for each parent. */
const program = `require("node:http").createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => { body += chunk; });
  request.on("end", () => {
    const { parent } = JSON.parse(body);
    const child = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: parent.metadata.name + "-egg" } };
    response.end(JSON.stringify({ status: { eggs: 1 }, children: [child] }));
  });
}).listen(8080);`;

export async function nocodeRow(setting: Setting): Promise<string> {
  const { client, kubeconfig, scratch } = setting;
  const folder = join(scratch, "definitions");
  mkdirSync(folder);
  writeFileSync(join(folder, "graph.yaml"), graph("ConfigMap"));
  writeFileSync(join(folder, "hook.yaml"), hook);
  writeFileSync(join(folder, "plan.yaml"), plan);
  const archive = join(scratch, "nocode.oci.tar");
  await keelson("install", "--archive", archive, "--image", image);
  await keelson("image", "load", archive);
  await startHook(setting);
  const install = () => keelson("install", "-f", folder, "--image", image, "--kubeconfig", kubeconfig);
  const installMs = await timed(async () => {
    await install();
    await available(setting);
  });
  const kind = (group: string, version: string, name: string, resource: string) =>
    client.kind(dynamicKind({ group, version, kind: name, resource, scope: "Namespaced" }));
  await made(() => kind("kro.run", "v1alpha1", "Note", "notes").create({ metadata: at("first") }));
  await made(() => kind("example.com", "v1", "Nest", "nests").create({ metadata: at("first") }));
  await made(() => kind("example.com", "v1", "Wiki", "wikis").create({ metadata: at("first") }));
  for (const name of ["first-note", "first-egg", "first-page"]) {
    await soon(`${name} is there`, async () => (await client.kind(ConfigMap).find(at(name))) !== undefined);
  }
  if (await mayCreate(setting, "secrets")) throw new Error("it may create Secrets, which nothing asks for");
  writeFileSync(join(folder, "graph.yaml"), graph("Secret"));
  const changeMs = await timed(async () => {
    await install();
    await soon("the Secret is there", async () => {
      const found = await client.kind(Secret).find(at("first-note"));
      const before = await client.kind(ConfigMap).find(at("first-note"));
      return found !== undefined && before === undefined;
    });
  });
  if (!(await mayCreate(setting, "secrets"))) throw new Error("the role did not change");
  return `installed and available in ${seconds(installMs)}; a changed definition and its role in ${seconds(changeMs)}`;
}

async function startHook({ client }: Setting): Promise<void> {
  const labels = { app: "hook" };
  await client.kind(Pod).create({
    metadata: { ...at("hook"), labels },
    spec: { containers: [{ name: "hook", image: "node:24", command: ["node", "-e", program] }] },
  });
  await client
    .kind(Service)
    .create({ metadata: at("hook"), spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] } });
}

async function available({ client }: Setting): Promise<void> {
  const ref = { namespace: "keelson-nocode", name: "nocode" };
  await soon(
    "the Deployment is available",
    async () => (await client.kind(Deployment).get(ref)).status?.availableReplicas === 1,
    120_000,
  );
}

/** The kind may not be served yet. */
async function made(create: () => Promise<unknown>): Promise<void> {
  await soon("an instance is created", async () => {
    await create();
    return true;
  });
}

async function mayCreate({ client }: Setting, resource: string): Promise<boolean> {
  const user = "system:serviceaccount:keelson-nocode:nocode";
  const spec = { user, groups: [], resourceAttributes: { verb: "create", resource, namespace: "default" } };
  const review = await client.kind(SubjectAccessReview).create({ metadata: {}, spec } as never);
  return (review as { status?: { allowed?: boolean } }).status?.allowed === true;
}
