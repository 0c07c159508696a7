/** A custom resource definition, read once into what the server asks of it. */
import { deepEqual } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import type { JsonSchema } from "./schema.ts";

export interface DefinitionNames {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

export interface DefinitionColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

export interface DefinitionScale {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  readonly schema: JsonSchema | undefined;
  readonly hasStatus: boolean;
  readonly scale: DefinitionScale | undefined;
  readonly columns: readonly DefinitionColumn[];
  readonly selectableFields: readonly string[];
}

export interface WebhookClientConfig {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path?: string;
    readonly port?: number;
  };
  readonly caBundle?: string;
}

export interface Definition {
  readonly name: string;
  readonly group: string;
  readonly namespaced: boolean;
  readonly names: DefinitionNames;
  readonly versions: readonly DefinitionVersion[];
  readonly storageVersion: string;
  readonly preserveUnknownFields: boolean;
  readonly conversion:
    | { readonly strategy: "None" }
    | {
        readonly strategy: "Webhook";
        readonly client: WebhookClientConfig;
        readonly reviewVersions: readonly string[];
      };
  readonly object: ApiObject;
}

interface RawVersion {
  name?: string;
  served?: boolean;
  storage?: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: JsonSchema };
  subresources?: { status?: unknown; scale?: DefinitionScale };
  additionalPrinterColumns?: DefinitionColumn[];
  selectableFields?: { jsonPath?: string }[];
}

interface RawNames {
  plural?: string;
  singular?: string;
  kind?: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

export interface RawSpec {
  group?: string;
  scope?: string;
  names?: RawNames;
  versions?: RawVersion[] | null;
  preserveUnknownFields?: boolean;
  conversion?: {
    strategy?: string;
    webhook?: { clientConfig?: WebhookClientConfig; conversionReviewVersions?: string[] };
  };
}

export function readDefinition(object: ApiObject): Definition {
  const spec = (object.spec ?? {}) as unknown as RawSpec;
  const names = spec.names ?? {};
  const versions = (spec.versions ?? []).map(readVersion);
  const webhook = spec.conversion?.webhook;
  return {
    name: object.metadata.name,
    group: spec.group ?? "",
    namespaced: spec.scope === "Namespaced",
    names: {
      plural: names.plural ?? "",
      singular: names.singular ?? "",
      kind: names.kind ?? "",
      listKind: names.listKind ?? "",
      shortNames: names.shortNames ?? [],
      categories: names.categories ?? [],
    },
    versions,
    storageVersion: versions.find(({ storage }) => storage)?.name ?? "",
    preserveUnknownFields: spec.preserveUnknownFields === true,
    conversion:
      spec.conversion?.strategy === "Webhook"
        ? {
            strategy: "Webhook",
            client: webhook?.clientConfig ?? {},
            reviewVersions: webhook?.conversionReviewVersions ?? [],
          }
        : { strategy: "None" },
    object,
  };
}

function readVersion(raw: RawVersion): DefinitionVersion {
  return {
    name: raw.name ?? "",
    served: raw.served ?? false,
    storage: raw.storage ?? false,
    deprecated: raw.deprecated ?? false,
    deprecationWarning: raw.deprecationWarning,
    schema: raw.schema?.openAPIV3Schema,
    hasStatus: raw.subresources?.status !== undefined && raw.subresources.status !== null,
    scale: raw.subresources?.scale ?? undefined,
    columns: raw.additionalPrinterColumns ?? [],
    selectableFields: (raw.selectableFields ?? []).map(({ jsonPath = "" }) => jsonPath),
  };
}

/** Whether all versions say the same: messages then speak of the top level instead of each version. */
export function sameInAllVersions<T>(
  versions: readonly DefinitionVersion[],
  pick: (version: DefinitionVersion) => T | undefined,
): boolean {
  const [first, ...rest] = versions.map(pick);
  if (first === undefined) return false;
  return rest.every((value) => value !== undefined && deepEqual(value, first));
}
