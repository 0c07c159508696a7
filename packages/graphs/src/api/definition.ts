/** The resource that defines a graph, as `kro.run/v1alpha1` has it. */
import type { JsonObject, Kind, KubeObject, LabelSelectorObject } from "@keelson/core";
import type { CrdVersion, CustomResourceDefinitionObject } from "@keelson/schema";
import { definitionCrd } from "./definition-crd.ts";

/** The schema of a graph's instances. */
export interface DefinitionSchema {
  readonly kind: string;
  readonly apiVersion: string;
  /** Default: `kro.run`. */
  readonly group?: string;
  /** Default: `Namespaced`. */
  readonly scope?: "Namespaced" | "Cluster";
  /** In SimpleSchema. */
  readonly spec?: JsonObject;
  readonly types?: JsonObject;
  /** Expressions; their types become the schema. */
  readonly status?: JsonObject;
  readonly additionalPrinterColumns?: CrdVersion["additionalPrinterColumns"];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** For the generated CRD. */
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** An object of another's that a graph reads: one by name, or all that a selector finds. */
export interface ExternalRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly selector?: LabelSelectorObject;
  };
}

/** One resource of a graph: a template, or a reference to what is there. */
export interface DefinitionResource {
  readonly id: string;
  readonly template?: JsonObject;
  readonly externalRef?: ExternalRef;
  readonly readyWhen?: readonly string[];
  readonly includeWhen?: readonly string[];
  /** Each entry names one variable, and the list that it takes its values from. */
  readonly forEach?: readonly Readonly<Record<string, string>>[];
}

/** Schema and resources of a graph. */
export interface DefinitionSpec {
  readonly schema: DefinitionSchema;
  readonly resources?: readonly DefinitionResource[];
}

/** A condition as kro writes it. */
export interface GraphCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

/** What is reported of a definition. */
export interface DefinitionStatus {
  readonly state?: "Active" | "Inactive";
  readonly topologicalOrder?: readonly string[];
  readonly conditions?: readonly GraphCondition[];
  readonly resources?: readonly {
    readonly id: string;
    readonly dependencies: readonly { readonly id: string }[];
  }[];
  readonly lastIssuedRevision?: number;
}

/** A ResourceGraphDefinition. */
export interface DefinitionObject extends KubeObject {
  readonly spec: DefinitionSpec;
  readonly status?: DefinitionStatus;
}

/** The kind of definitions, with its CRD. */
export const ResourceGraphDefinition: Kind<DefinitionObject, "kro.run", "ResourceGraphDefinition"> & {
  crd(): CustomResourceDefinitionObject;
} = Object.freeze({
  group: "kro.run",
  version: "v1alpha1",
  kind: "ResourceGraphDefinition",
  resource: "resourcegraphdefinitions",
  scope: "Cluster",
  crd: definitionCrd,
});

/** The group of a graph's instances when its definition names none. */
export const defaultGroup = "kro.run";
