/** Provokes every error of @keelson/graphs. */
import { checkDefinitions, clusterFacts, type DefinitionSpec, type GraphErrorCode } from "@keelson/graphs";
import { cluster } from "@keelson/testing";
import { instanceCrd } from "../../../packages/graphs/src/crd/generate.ts";
import { crdPatch } from "../../../packages/graphs/src/definitions/instance-crd.ts";
import { definitionLabels } from "../../../packages/graphs/src/instance/marks.ts";
import type { Provocations } from "../provoked.ts";

const schema = { apiVersion: "v1alpha1", kind: "Web" };

async function refused(spec: DefinitionSpec): Promise<never> {
  await using c = await cluster();
  const [result] = await checkDefinitions([{ metadata: { name: "web" }, spec }], clusterFacts(c.client));
  throw result?.error;
}

function changed(owner: string, type: "string" | "integer"): unknown {
  const crd = (field: "string" | "integer") =>
    instanceCrd(schema, { type: "object", properties: { size: { type: field } } }, { type: "object" });
  const metadata = { name: "webs.kro.run", labels: definitionLabels({ name: owner, uid: "1" }) };
  const existing = { ...crd("string"), metadata } as never;
  return crdPatch(existing, crd(type), { owner: { name: "web", uid: "1" }, allowBreaking: false });
}

export const graphs: Provocations<GraphErrorCode> = {
  InvalidDefinition: async () => await refused({ schema: { ...schema, spec: { size: "number" } } }),
  UnknownKind: async () =>
    await refused({
      schema,
      resources: [{ id: "a", template: { apiVersion: "v1", kind: "Unknown", metadata: { name: "a" } } }],
    }),
  BreakingChange: () => changed("web", "integer"),
  NotOurs: () => changed("another", "string"),
};
