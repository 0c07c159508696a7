/** A PlanDefinition: a kind of resources whose spec holds parameters, and the plans that bring them. */
import { dynamicKind, type Kind, type KubeObject, type ObjectOf } from "@keelson/core";
import {
  type CustomResourceDefinitionObject,
  immutable,
  preserveUnknown,
  resource,
  type StructuralSchema,
} from "@keelson/schema";
import { z } from "zod";
import { planSchema } from "./plan.ts";
import { planColumns, planStatus } from "./status.ts";

/** An operator as plans: the kind that its users create, and what happens to it. */
export const PlanDefinition = resource({
  group: "plans.keelson.dev",
  version: "v1alpha1",
  kind: "PlanDefinition",
  scope: "Cluster",
  shortNames: ["pd"],
  spec: z.object({
    resource: z
      .object({
        group: z.string().check(immutable("group is immutable: objects of the kind would be left alone")),
        version: z.string().default("v1"),
        kind: z.string().check(immutable("kind is immutable: objects of the kind would be left alone")),
        plural: z.string().optional(),
        shortNames: z.array(z.string()).optional(),
      })
      .describe("The kind whose objects have these plans."),
    parameters: preserveUnknown()
      .optional()
      .describe("The schema of its spec: properties in the form of OpenAPI."),
    required: z.array(z.string()).optional().describe("Parameters without a default that must be given."),
    plans: z.record(z.string(), planSchema),
  }),
  status: z.object({}),
  columns: { Kind: ".spec.resource.kind", Group: ".spec.resource.group" },
});

/** A PlanDefinition as the server returns it. */
export type PlanDefinitionObject = ObjectOf<typeof PlanDefinition>;

/** The kind that a definition describes, with its CustomResourceDefinition. */
export type PlannedKind = Kind<KubeObject> & { crd(): CustomResourceDefinitionObject };

/** The kind of a definition: its spec is the parameters, its status that of plans. */
export function plannedKind({ spec }: Pick<PlanDefinitionObject, "spec">): PlannedKind {
  const { group, version, kind, plural, shortNames } = spec.resource;
  const made = resource({
    group,
    version: version ?? "v1",
    kind,
    ...(plural === undefined ? {} : { plural }),
    ...(shortNames === undefined ? {} : { shortNames }),
    spec: z.object({}),
    status: z.object(planStatus),
    columns: planColumns,
  });
  const properties = (spec.parameters ?? {}) as Record<string, StructuralSchema>;
  const required = (spec.required ?? []).filter((name) => properties[name]?.default === undefined);
  const parameters: StructuralSchema = {
    type: "object",
    properties,
    // An object whose parameters all have defaults needs no spec.
    ...(required.length === 0 ? { default: {} } : { required }),
  };
  return Object.freeze({
    ...dynamicKind({ group, version: version ?? "v1", kind, resource: made.resource, scope: "Namespaced" }),
    crd: () => withSpec(made.crd(), parameters),
  });
}

function withSpec(
  crd: CustomResourceDefinitionObject,
  spec: StructuralSchema,
): CustomResourceDefinitionObject {
  const versions = crd.spec.versions.map((version) => {
    const { required = [], ...schema } = version.schema.openAPIV3Schema;
    const properties: Record<string, StructuralSchema> = { ...schema.properties, spec };
    const needed = required.filter((name) => properties[name]?.default === undefined);
    const openAPIV3Schema = {
      ...schema,
      properties,
      ...(needed.length === 0 ? {} : { required: needed }),
    };
    return { ...version, schema: { openAPIV3Schema } };
  });
  return { ...crd, spec: { ...crd.spec, versions } };
}
