/** Checks definitions before anything is made: each by itself, and all together as they name each other's kinds. */
import type { Client } from "@keelson/client";
import { type AnyKind, apiVersionOf } from "@keelson/core";
import { type Controller, type PolicyRule, type RoleOptions, roleFor } from "@keelson/runtime";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import type { DefinitionObject } from "../api/definition.ts";
import { GraphError } from "../errors.ts";
import { type ClusterFacts, compileGraph } from "../graph/compile.ts";
import type { Graph } from "../graph/graph.ts";
import { instanceController } from "../instance/controller.ts";
import { OpenApiDocuments, type SchemaSource } from "../openapi/documents.ts";
import { type OpenApiSchema, type RootedSchema, Schemas } from "../openapi/schema.ts";
import { type GraphOptions, graphs } from "./controller.ts";

/** A definition, as far as it is needed to check it. */
export type Checkable = Pick<DefinitionObject, "spec"> & { readonly metadata: { readonly name: string } };

/** What became of a definition. */
export interface Checked<D extends Checkable = Checkable> {
  readonly definition: D;
  /** Present when nothing is wrong with it. */
  readonly graph?: Graph;
  readonly error?: GraphError;
}

/** What the cluster says of its kinds. */
export function clusterFacts(client: Client): ClusterFacts {
  return {
    discover: (apiVersion, kind) => client.discover(apiVersion, kind),
    documents: new OpenApiDocuments((path) => client.raw({ path })),
  };
}

/** Nothing is written. Kinds that the definitions themselves bring, or `crds`, count as served. */
export async function checkDefinitions<D extends Checkable>(
  definitions: readonly D[],
  facts: ClusterFacts,
  crds: readonly CustomResourceDefinitionObject[] = [],
): Promise<Checked<D>[]> {
  const overlay = new Overlay(facts);
  for (const crd of crds) overlay.add(crd);
  const results = new Map<D, Checked<D>>();
  for (let left = [...definitions]; left.length > 0; ) {
    const later: D[] = [];
    for (const definition of left) {
      const result = await check(definition, overlay);
      results.set(definition, result);
      if (result.graph) overlay.add(result.graph.crd);
      else if (result.error?.code === "UnknownKind") later.push(definition);
    }
    if (later.length === left.length) break;
    left = later;
  }
  return definitions.map((definition) => results.get(definition) as Checked<D>);
}

async function check<D extends Checkable>(definition: D, facts: ClusterFacts): Promise<Checked<D>> {
  try {
    return { definition, graph: await compileGraph(definition, facts) };
  } catch (error) {
    if (!(error instanceof GraphError)) throw error;
    return { definition, error };
  }
}

/** A graph, and kinds of which its earlier definitions left children. */
export interface KnownGraph {
  readonly graph: Graph;
  readonly retired?: readonly AnyKind[];
}

/** Every controller that an operator with these graphs runs: what its role follows from. */
export function graphControllers(known: readonly KnownGraph[], options: GraphOptions = {}): Controller[] {
  const instances = known.map(({ graph, retired = [] }) =>
    instanceController({ graph, definition: { name: graph.name, uid: "" }, retired }),
  );
  return [graphs(options), ...instances];
}

/** Exactly what an operator with these graphs needs. */
export function graphRole(
  known: readonly KnownGraph[],
  options: GraphOptions & RoleOptions = {},
): PolicyRule[] {
  return roleFor(graphControllers(known, options), options);
}

/** A cluster as it will be: with kinds that are not installed yet. */
class Overlay implements ClusterFacts {
  readonly documents: SchemaSource;
  readonly #facts: ClusterFacts;
  readonly #kinds = new Map<string, { readonly kind: AnyKind; readonly schema: OpenApiSchema }>();

  constructor(facts: ClusterFacts) {
    this.#facts = facts;
    this.documents = new OverlaidDocuments(facts.documents, this.#kinds);
  }

  add({ spec }: CustomResourceDefinitionObject): void {
    for (const { name, schema } of spec.versions) {
      const { group, scope, names } = spec;
      const kind = { group, version: name, kind: names.kind, resource: names.plural, scope };
      const key = `${apiVersionOf(kind)}/${kind.kind}`;
      this.#kinds.set(key, { kind, schema: (schema?.openAPIV3Schema ?? {}) as OpenApiSchema });
    }
  }

  discover = async (apiVersion: string, kind: string): Promise<AnyKind> => {
    const own = this.#kinds.get(`${apiVersion}/${kind}`);
    if (own) return own.kind;
    return await this.#facts.discover(apiVersion, kind);
  };
}

class OverlaidDocuments implements SchemaSource {
  readonly #below: SchemaSource;
  readonly #kinds: ReadonlyMap<string, { readonly kind: AnyKind; readonly schema: OpenApiSchema }>;

  constructor(
    below: SchemaSource,
    kinds: ReadonlyMap<string, { readonly kind: AnyKind; readonly schema: OpenApiSchema }>,
  ) {
    this.#below = below;
    this.#kinds = kinds;
  }

  async schemaOf(kind: AnyKind): Promise<RootedSchema | undefined> {
    const own = this.#kinds.get(`${apiVersionOf(kind)}/${kind.kind}`);
    if (!own) return await this.#below.schemaOf(kind);
    const meta = await this.#below.objectMeta();
    const { properties, ...rest } = own.schema;
    const metadata = meta?.schema ?? {};
    const root = { apiVersion: { type: "string" }, kind: { type: "string" }, ...properties, metadata };
    return { schema: { ...rest, properties: root }, schemas: meta?.schemas ?? new Schemas({}) };
  }

  async objectMeta(): Promise<RootedSchema | undefined> {
    return await this.#below.objectMeta();
  }
}
