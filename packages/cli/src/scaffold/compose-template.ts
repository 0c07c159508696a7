/** The template "compose": a pure function from an object to its children. */
import type { ApiNames } from "./names.ts";

export const composeSpec = {
  fields: `  spec: z.object({
    replicas: z.int().min(0).max(100).default(1).describe("How many pods run."),
    image: z.string().min(1).max(512).default("nginx:1.22").describe("The image that they run."),
    port: z.int().min(1).max(65535).default(80).describe("The port that they listen on."),
  }),
  status: z.object({
    readyReplicas: z.int().optional().describe("Pods that are ready."),
  }),
  columns: { Replicas: ".spec.replicas", Running: ".status.readyReplicas" },
`,
  example: "  replicas: 2\n",
};

export function composeController({ controller, kind }: ApiNames): string {
  return `/** What a ${kind} becomes: a Deployment and a Service. */
import { controller, type Desired, type ObjectOf } from "keelson";
import { Deployment, Service } from "keelson/kinds";
import { ${kind} } from "./api.ts";

type Instance = ObjectOf<typeof ${kind}>;

export const ${controller} = controller(${kind}, {
  owns: { deployment: Deployment, service: Service },
  compose: (object, { deployment }) => ({
    children: { deployment: deploymentFor(object), service: serviceFor(object) },
    status: { readyReplicas: deployment?.status?.readyReplicas ?? 0 },
  }),
});

const labelsOf = ({ metadata }: Instance) => ({ app: metadata.name });

function deploymentFor(object: Instance): Desired<typeof Deployment> {
  const { image, port, replicas } = object.spec;
  const labels = labelsOf(object);
  const container = { name: "main", image, ports: [{ containerPort: port }] };
  return {
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

function serviceFor(object: Instance): Desired<typeof Service> {
  return { spec: { selector: labelsOf(object), ports: [{ port: object.spec.port }] } };
}
`;
}

export function composeTest({ controller, folder, kind }: ApiNames): string {
  return `/** What is promised of a ${kind}. */
import { cluster, everyCrash } from "@keelson/testing";
import { Deployment } from "keelson/kinds";
import { expect, test } from "vitest";
import { ${kind} } from "../src/${folder}/api.ts";
import { ${controller} } from "../src/${folder}/controller.ts";

const controllers = [${controller}];
const here = { namespace: "default", name: "example" };
const example = ${kind}.object({ metadata: here, spec: { replicas: 2 } });

test("becomes a Deployment that follows its spec, and is ready when its pods are", async () => {
  await using c = await cluster({ controllers, workloads: true });
  await c.client.kind(${kind}).create(example);
  await c.converges({ writesWhenIdle: 0 });
  const ready = await c.client.kind(${kind}).get(here);
  expect(ready.status?.readyReplicas).toBe(2);

  await c.client.kind(Deployment).patch(here, { type: "merge", body: { spec: { replicas: 9 } } });
  await c.converges();
  expect((await c.client.kind(Deployment).get(here)).spec?.replicas).toBe(2);
});

test("leaves nothing half done, whenever its manager dies", async () => {
  await everyCrash({ controllers }, async (c) => {
    await c.client.kind(${kind}).create(example);
    await c.converges({ ready: false });
    expect((await c.client.kind(Deployment).get(here)).spec?.replicas).toBe(2);
  });
});
`;
}
