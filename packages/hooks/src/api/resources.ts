/** The kinds of metacontroller.k8s.io/v1alpha1: definitions of controllers, and the revisions of their parents. */
import type { Kind, KubeObject, ObjectOf, Stored } from "@keelson/core";
import { type CustomResourceDefinitionObject, resource } from "@keelson/schema";
import { z } from "zod";
import { annotationSelectorSchema, labelSelectorSchema } from "./selector.ts";
import { endpointConfigSchema, hookSchema } from "./webhook.ts";

const group = "metacontroller.k8s.io";
const version = "v1alpha1";

const rule = {
  apiVersion: z.string().describe("v1 or group/version."),
  resource: z.string().describe("The plural name, such as deployments."),
};
const ignoreStatusChanges = z
  .boolean()
  .optional()
  .describe("A change of the status alone does not call the hook.");
const method = z
  .enum(["OnDelete", "Recreate", "InPlace", "RollingRecreate", "RollingInPlace"])
  .optional()
  .describe("What happens to a child that differs. Default: OnDelete, nothing until someone deletes it.");
const endpointConfigs = z.array(endpointConfigSchema).optional();
const resyncPeriodSeconds = z.int().optional().describe("Calls the hook this often, though nothing changed.");

/** The group is the Kubernetes project's, and the server wants to know that it is used without its approval. */
function unapproved(crd: CustomResourceDefinitionObject): CustomResourceDefinitionObject {
  const annotations = { "api-approved.kubernetes.io": "unapproved, request not yet submitted" };
  return { ...crd, metadata: { ...crd.metadata, annotations } };
}

function withoutApproval<R extends { crd(): CustomResourceDefinitionObject }>(made: R): R {
  return Object.freeze({ ...made, crd: () => unapproved(made.crd()) });
}

/** A controller whose hook says which children a parent has. */
export const CompositeController = withoutApproval(
  resource({
    group,
    version,
    kind: "CompositeController",
    plural: "compositecontrollers",
    shortNames: ["cc", "cctl"],
    scope: "Cluster",
    spec: z.object({
      parentResource: z.object({
        ...rule,
        labelSelector: labelSelectorSchema.optional().describe("Which parents. Default: all."),
        revisionHistory: z
          .object({
            fieldPaths: z
              .array(z.string())
              .optional()
              .describe("The fields whose change is rolled out. Default: spec."),
          })
          .optional(),
        ignoreStatusChanges,
      }),
      childResources: z
        .array(
          z.object({
            ...rule,
            updateStrategy: z
              .object({
                method,
                statusChecks: z
                  .object({
                    conditions: z
                      .array(
                        z.object({
                          type: z.string(),
                          status: z.string().optional(),
                          reason: z.string().optional(),
                        }),
                      )
                      .optional(),
                  })
                  .optional()
                  .describe("What an updated child must show before the next one is updated."),
              })
              .optional(),
          }),
        )
        .optional(),
      hooks: z
        .object({
          customize: hookSchema.optional(),
          sync: hookSchema.optional(),
          finalize: hookSchema.optional(),
          preUpdateChild: hookSchema.optional(),
          postUpdateChild: hookSchema.optional(),
        })
        .optional(),
      endpointConfigs,
      resyncPeriodSeconds,
      generateSelector: z
        .boolean()
        .optional()
        .describe(
          "Children are found by a label with the parent's UID, and the parent needs no spec.selector.",
        ),
    }),
    status: z.object({}),
    columns: { Parent: ".spec.parentResource.resource" },
  }),
);

/** A controller whose hook adds labels, annotations, a status and attachments to objects of others. */
export const DecoratorController = withoutApproval(
  resource({
    group,
    version,
    kind: "DecoratorController",
    plural: "decoratorcontrollers",
    shortNames: ["dec", "decorators"],
    scope: "Cluster",
    spec: z.object({
      resources: z.array(
        z.object({
          ...rule,
          labelSelector: labelSelectorSchema.optional(),
          annotationSelector: annotationSelectorSchema.optional(),
          ignoreStatusChanges,
        }),
      ),
      attachments: z.array(z.object({ ...rule, updateStrategy: z.object({ method }).optional() })).optional(),
      hooks: z
        .object({
          customize: hookSchema.optional(),
          sync: hookSchema.optional(),
          finalize: hookSchema.optional(),
        })
        .optional(),
      endpointConfigs,
      resyncPeriodSeconds,
    }),
    status: z.object({}),
  }),
);

/** Which children stand at which state of their parent, while a change is rolled out. */
export interface ControllerRevisionObject extends KubeObject {
  parentPatch: Record<string, unknown>;
  children?: { apiGroup: string; kind: string; names: string[] }[];
}

/** The state of a parent that some of its children still stand at. */
export const ControllerRevision: Kind<ControllerRevisionObject, typeof group, "ControllerRevision"> & {
  crd(): CustomResourceDefinitionObject;
} = Object.freeze({
  group,
  version,
  kind: "ControllerRevision",
  resource: "controllerrevisions",
  scope: "Namespaced",
  crd: () =>
    unapproved({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `controllerrevisions.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: {
          plural: "controllerrevisions",
          singular: "controllerrevision",
          kind: "ControllerRevision",
          listKind: "ControllerRevisionList",
        },
        versions: [
          {
            name: version,
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: {
              openAPIV3Schema: {
                type: "object",
                required: ["metadata", "parentPatch"],
                properties: {
                  apiVersion: { type: "string" },
                  kind: { type: "string" },
                  metadata: { type: "object" },
                  parentPatch: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                  children: {
                    type: "array",
                    items: {
                      type: "object",
                      required: ["apiGroup", "kind", "names"],
                      properties: {
                        apiGroup: { type: "string" },
                        kind: { type: "string" },
                        names: { type: "array", items: { type: "string" } },
                      },
                    },
                  },
                },
              },
            },
          },
        ],
      },
    } as unknown as CustomResourceDefinitionObject),
});

/** A CompositeController as the server returns it. */
export type CompositeControllerObject = ObjectOf<typeof CompositeController>;
/** A DecoratorController as the server returns it. */
export type DecoratorControllerObject = ObjectOf<typeof DecoratorController>;
/** Either of the two. */
export type HookDefinition = CompositeControllerObject | DecoratorControllerObject;

/** An object of whatever kind, as far as hooks look into it. */
export interface AnyObject extends Stored {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}
