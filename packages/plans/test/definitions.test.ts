/** Plans in YAML: definitions in the cluster, a hook on loopback, and what cannot work. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of plans stand in plain texts.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dynamicKind, type JsonObject, type KubeObject, parseJson } from "@keelson/core";
import { ConfigMap, CustomResourceDefinition, Job } from "@keelson/core/kinds";
import { networkTransport } from "@keelson/hooks";
import { roleFor } from "@keelson/runtime";
import { cluster } from "@keelson/testing";
import { expect, test } from "vitest";
import {
  PlanDefinition,
  type PlanDefinitionObject,
  planControllers,
  planHost,
  plannedKind,
} from "../src/index.ts";

const here = { namespace: "default", name: "one" };
const Wiki = dynamicKind({
  group: "example.com",
  version: "v1",
  kind: "Wiki",
  resource: "wikis",
  scope: "Namespaced",
});

const definition = (plans: object): KubeObject =>
  ({
    apiVersion: "plans.keelson.dev/v1alpha1",
    kind: "PlanDefinition",
    metadata: { name: "wiki" },
    spec: {
      resource: { group: "example.com", version: "v1", kind: "Wiki" },
      parameters: { text: { type: "string", default: "hello" }, size: { type: "integer", minimum: 1 } },
      plans,
    },
  }) as KubeObject;

const page = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "${name}-page" },
  data: { text: "${parameters.text}" },
};
const discovering = {
  discover: async (apiVersion: string, kind: string) => {
    const found = [ConfigMap, Job].find((each) => each.kind === kind && apiVersion.endsWith(each.version));
    if (found) return found;
    throw Object.assign(new Error("unknown"), { code: "KindUnknown" });
  },
};

test("a definition makes its kind, runs its plans, and calls its hooks until they are done", async () => {
  const asked: JsonObject[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      asked.push(parseJson(Buffer.concat(chunks).toString()) as JsonObject);
      response.end(
        JSON.stringify(asked.length < 3 ? { done: false, message: "soon" } : { result: { id: 7 } }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/register`;
  const plans = {
    deploy: {
      phases: [
        { name: "register", steps: [{ name: "call", hook: { url } }] },
        {
          name: "run",
          steps: [
            { name: "page", apply: [page] },
            {
              name: "seen",
              wait: {
                object: { apiVersion: "v1", kind: "ConfigMap", name: "${name}-page" },
                until: "object.data.text == parameters.text && results['register/call'].id == 7",
              },
            },
          ],
        },
      ],
    },
  };
  let underWay = 0;
  const transport: typeof networkTransport = async (request) => {
    underWay++;
    return await networkTransport(request).finally(() => underWay--);
  };
  const [made] = await planControllers([definition(plans)], discovering);
  await using c = await cluster({
    controllers: [planHost({ transport, services: "dns" })],
    rules: roleFor([made?.controller as never]),
    busy: () => underWay > 0,
  });
  await c.client.kind(PlanDefinition).create(definition(plans) as never);
  await c.until(async () => {
    const { status } = await c.client.kind(PlanDefinition).get({ name: "wiki" });
    return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
  });
  const crd = await c.client.kind(CustomResourceDefinition).get({ name: "wikis.example.com" });
  const columns = crd.spec.versions[0]?.additionalPrinterColumns?.map(({ name }) => name);
  expect(columns?.slice(0, 4)).toEqual(["Plan", "State", "Progress", "Step"]);

  // All parameters have defaults or may be left out: there need be no spec.
  await c.client.kind(Wiki).create({ metadata: here });
  expect(await c.client.kind(Wiki).get(here)).toMatchObject({ spec: { text: "hello" } });
  await c.until(async () => {
    const { status } = (await c.client.kind(Wiki).get(here)) as { status?: { plan?: { state: string } } };
    return status?.plan?.state === "Succeeded";
  });
  await c.converges();
  expect((await c.client.kind(ConfigMap).get({ ...here, name: "one-page" })).data).toEqual({ text: "hello" });
  expect(asked.length).toBe(3);
  expect(new Set(asked.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  expect(asked[0]).toMatchObject({
    run: "deploy-1",
    step: "call",
    parameters: { text: "hello" },
    resumed: false,
  });
  expect(c.forbidden).toEqual([]);
  // The schema is the definition's.
  const invalid = { metadata: { ...here, name: "two" }, spec: { size: 0 } } as never;
  await expect(c.client.kind(Wiki).create(invalid)).rejects.toThrow(/spec.size/);
  server.close();
});

test("a parameter that must be given makes the spec necessary, and one with a default does not", () => {
  const schemaOf = (required: string[]) => {
    const { spec } = definition({}) as unknown as PlanDefinitionObject;
    const [version] = plannedKind({ spec: { ...spec, required } }).crd().spec.versions;
    return version?.schema.openAPIV3Schema;
  };
  expect(schemaOf(["text"])).not.toHaveProperty("required");
  expect(schemaOf(["text"])?.properties?.["spec"]).toMatchObject({ default: {} });
  expect(schemaOf(["text", "size"])).toMatchObject({ required: ["spec"] });
  expect(schemaOf(["text", "size"])?.properties?.["spec"]).toMatchObject({ required: ["size"] });
});

test("a definition that cannot work is one sentence", async () => {
  const refused = async (plans: object) =>
    await planControllers([definition(plans)], discovering).then(
      () => "accepted",
      (error: Error) => error.message,
    );
  const one = (step: JsonObject) => ({
    deploy: { phases: [{ name: "p", steps: [{ name: "s", ...step }] }] },
  });
  expect(await refused({})).toBe("PlanDefinition wiki has no plans");
  expect(
    await refused(one({ apply: [{ apiVersion: "v1", kind: "Gadget", metadata: { name: "a" } }] })),
  ).toMatch(/names Gadget of v1, which the cluster does not serve/);
  expect(await refused(one({ apply: [{ ...page, kind: "${parameters.kind}" }] }))).toMatch(/write both out/);
  expect(await refused(one({ job: {}, wait: { duration: "1s" } }))).toMatch(/it has wait and job/);
  expect(await refused({ deploy: { phases: [] } })).toMatch(/phases/);
});
