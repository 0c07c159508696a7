/** From a definition to a graph: everything that can be wrong is found here, before anything is made. */
import { type CelType, type Environment, listType, types } from "@keelson/cel";
import { formatType, isOptionalType } from "@keelson/cel/internal";
import { ClientError } from "@keelson/client";
import { type AnyKind, apiVersionOf, dynamicKind, type JsonObject } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import type { StructuralSchema } from "@keelson/schema";
import { type DefinitionObject, type DefinitionResource, defaultGroup } from "../api/definition.ts";
import { instanceCrd } from "../crd/generate.ts";
import { Problems } from "../errors.ts";
import { withConditions } from "../expressions/condition-library.ts";
import { graphEnvironment } from "../expressions/environment.ts";
import { compileExpression, type Expression } from "../expressions/expression.ts";
import { onlyCel } from "../expressions/text.ts";
import { SchemaTypes } from "../expressions/types.ts";
import type { SchemaSource } from "../openapi/documents.ts";
import { type OpenApiSchema, type RootedSchema, Schemas } from "../openapi/schema.ts";
import { formatPath, type Path } from "../path.ts";
import { structuralSchema } from "../simple-schema/simple-schema.ts";
import { mismatch } from "./compatible.ts";
import type { ComputedField, Dimension, Graph, GraphNode } from "./graph.ts";
import { checkNames } from "./names.ts";
import { deletionWaves, topologicalOrder } from "./order.ts";
import { statusSchema } from "./status-schema.ts";
import { scanTemplate, type TemplateExpression } from "./templates.ts";

/** What a definition is checked against. */
export interface ClusterFacts {
  discover(apiVersion: string, kind: string): Promise<AnyKind>;
  readonly documents: SchemaSource;
}

/** @throws GraphError with a sentence for each mistake. */
export async function compileGraph(
  definition: Pick<DefinitionObject, "spec"> & { readonly metadata: { readonly name: string } },
  cluster: ClusterFacts,
): Promise<Graph> {
  const problems = new Problems();
  checkNames(definition.spec, problems);
  problems.throwIfAny();
  return await new Compilation(definition, cluster, problems).run();
}

/** A resource of which kind and schema are known. */
interface KnownResource {
  readonly resource: DefinitionResource;
  readonly index: number;
  readonly path: Path;
  readonly template: JsonObject;
  readonly kind: AnyKind;
  readonly schema: RootedSchema | undefined;
  readonly type: GraphNode["type"];
}

class Compilation {
  readonly #definition: Pick<DefinitionObject, "spec"> & { readonly metadata: { readonly name: string } };
  readonly #cluster: ClusterFacts;
  readonly #problems: Problems;
  readonly #types = new SchemaTypes();

  constructor(
    definition: Pick<DefinitionObject, "spec"> & { readonly metadata: { readonly name: string } },
    cluster: ClusterFacts,
    problems: Problems,
  ) {
    this.#definition = definition;
    this.#cluster = cluster;
    this.#problems = problems;
  }

  async run(): Promise<Graph> {
    const { schema: declared } = this.#definition.spec;
    const spec = this.#problems.try(() =>
      structuralSchema({
        spec: declared.spec ?? {},
        types: declared.types ?? {},
        specPath: ["spec", "schema", "spec"],
        typesPath: ["spec", "schema", "types"],
      }),
    );
    const known = await this.#knownResources();
    this.#problems.throwIfAny();
    const schema = await this.#instanceSchema(spec as StructuralSchema);
    const environment = this.#environment(schema, known);
    const made = known.map((each) => this.#node(each, environment));
    const status = this.#status(environment);
    const conditions = this.#conditions(environment);
    this.#problems.throwIfAny();
    const order = topologicalOrder(made);
    const waves = deletionWaves(order);
    const crd = instanceCrd(
      declared,
      spec as StructuralSchema,
      statusSchema(
        status.map(({ at, expression }) => ({ at, type: expression.type })),
        this.#types,
      ),
    );
    return {
      name: this.#definition.metadata.name,
      kind: dynamicKind({
        group: crd.spec.group,
        version: declared.apiVersion,
        kind: declared.kind,
        resource: crd.spec.names.plural,
        scope: crd.spec.scope,
      }),
      crd,
      nodes: order.map((node) => ({ ...node, wave: waves.get(node.id) as number })),
      schema,
      status,
      conditions,
    };
  }

  // ------------------------------------------------------------------------------------ kinds and schemas

  get #namespaced(): boolean {
    return this.#definition.spec.schema.scope !== "Cluster";
  }

  async #knownResources(): Promise<KnownResource[]> {
    const known: KnownResource[] = [];
    for (const [index, resource] of (this.#definition.spec.resources ?? []).entries()) {
      const found = await this.#known(resource, index);
      if (found) known.push(found);
    }
    return known;
  }

  async #known(resource: DefinitionResource, index: number): Promise<KnownResource | undefined> {
    const part = resource.externalRef ? "externalRef" : "template";
    const path: Path = ["spec", "resources", index, part];
    const template = (resource.externalRef ?? resource.template) as unknown as JsonObject;
    const { apiVersion, kind: name, metadata } = template;
    for (const [field, value] of [
      ["apiVersion", apiVersion],
      ["kind", name],
    ] as const) {
      if (typeof value !== "string" || value.includes("${")) {
        this.#problems.report([...path, field], `a resource names its ${field}, as a plain string`);
        return undefined;
      }
    }
    if (!isObject(metadata)) {
      this.#problems.report([...path, "metadata"], "a resource has metadata with a name");
      return undefined;
    }
    const kind = await this.#kind(apiVersion as string, name as string, path);
    if (!kind) return undefined;
    this.#checkMetadata(resource, kind, metadata as JsonObject, [...path, "metadata"]);
    return {
      resource,
      index,
      path,
      template,
      kind,
      schema: await this.#cluster.documents.schemaOf(kind),
      type: typeOf(resource),
    };
  }

  async #kind(apiVersion: string, name: string, path: Path): Promise<AnyKind | undefined> {
    const { kind, apiVersion: version, group = defaultGroup } = this.#definition.spec.schema;
    if (name === kind && apiVersion === `${group}/${version}`) {
      this.#problems.report([...path, "kind"], `a ${kind} cannot contain a ${kind}: it would never end`);
      return undefined;
    }
    try {
      return await this.#cluster.discover(apiVersion, name);
    } catch (error) {
      if (!(error instanceof ClientError && error.code === "KindUnknown")) throw error;
      const sentence = `the cluster has no kind ${name} in ${apiVersion}; install its CustomResourceDefinition first, or correct the name`;
      this.#problems.report([...path, "kind"], sentence, "UnknownKind");
      return undefined;
    }
  }

  #checkMetadata(resource: DefinitionResource, kind: AnyKind, metadata: JsonObject, path: Path): void {
    const { namespace } = metadata;
    if (kind.scope === "Cluster" && namespace !== undefined) {
      this.#problems.report([...path, "namespace"], `${kind.kind} has no namespace: leave it out`);
    }
    const needsNamespace =
      kind.scope === "Namespaced" && !this.#namespaced && typeOf(resource) !== "externalCollection";
    if (needsNamespace && (typeof namespace !== "string" || namespace.trim() === "")) {
      this.#problems.report(path, "instances have no namespace to give, so this needs a namespace");
    }
    for (const part of ["labels", "annotations"] as const) {
      for (const key of Object.keys((metadata[part] as JsonObject | undefined) ?? {})) {
        if (!/^(internal\.)?kro\.run\//.test(key)) continue;
        this.#problems.report([...path, part, key], "names that begin with kro.run/ are reserved");
      }
    }
  }

  /** What `schema` is: spec as declared, metadata as every object has it. */
  async #instanceSchema(spec: StructuralSchema): Promise<RootedSchema> {
    const meta = await this.#cluster.documents.objectMeta();
    const schema: OpenApiSchema = {
      type: "object",
      properties: {
        apiVersion: { type: "string" },
        kind: { type: "string" },
        metadata: meta ? meta.schema : {},
        spec: spec as OpenApiSchema,
      },
    };
    return { schema, schemas: meta?.schemas ?? new Schemas({}) };
  }

  #environment(schema: RootedSchema, known: readonly KnownResource[]): Environment {
    const variables: Record<string, CelType> = { schema: this.#types.typeOf(schema, typeName("schema")) };
    for (const { resource, schema: own, type } of known) {
      const one = own ? this.#types.typeOf(own, typeName(resource.id)) : types.dyn;
      variables[resource.id] = type === "collection" || type === "externalCollection" ? listType(one) : one;
    }
    return graphEnvironment.extend({ variables, resolveObject: this.#types.resolve });
  }

  // ------------------------------------------------------------------------------------ resources

  #node(known: KnownResource, environment: Environment): Omit<GraphNode, "wave"> {
    const { resource, index, path, template, kind, schema, type } = known;
    const base: Path = ["spec", "resources", index];
    const forEach = this.#dimensions(resource, environment, [...base, "forEach"]);
    const variables = Object.fromEntries(forEach.map(({ name, element }) => [name, element]));
    const inside = forEach.length === 0 ? environment : environment.extend({ variables });
    const isCrd = kind.group === "apiextensions.k8s.io" && kind.kind === "CustomResourceDefinition";
    const checked = resource.externalRef || isCrd ? undefined : schema;
    const found = scanTemplate(template, checked, path, this.#problems);
    if (isCrd) this.#refuseOutsideMetadata(found, path);
    const loops = new Set(Object.keys(variables));
    const fields = found.flatMap((each) => this.#field(each, inside, path, loops) ?? []);
    this.#checkIdentity(resource, fields, loops, [...path, "metadata"]);
    const includeWhen = this.#truths(resource.includeWhen, environment, [...base, "includeWhen"]);
    const readyWhen = this.#readyWhen(known, environment, [...base, "readyWhen"]);
    const ids = new Set((this.#definition.spec.resources ?? []).map(({ id }) => id));
    const read = [
      ...fields.map((each) => each.expression),
      ...forEach.map(({ list }) => list),
      ...includeWhen,
    ];
    const dependencies = [...new Set(read.flatMap(({ references }) => [...references]))].filter((id) =>
      ids.has(id),
    );
    return {
      ...{
        id: resource.id,
        index,
        type,
        kind,
        schema,
        template,
        fields,
        includeWhen,
        readyWhen,
        dependencies,
      },
      forEach: forEach.map(({ name, list }) => ({ name, list })),
    };
  }

  #refuseOutsideMetadata(found: readonly TemplateExpression[], path: Path): void {
    for (const { at } of found) {
      if (at[0] === "metadata") continue;
      this.#problems.report(
        [...path, ...at],
        "expressions in a CustomResourceDefinition stand in its metadata only",
      );
    }
  }

  #field(
    { at, text, wanted }: TemplateExpression,
    environment: Environment,
    path: Path,
    loops: ReadonlySet<string>,
  ): ComputedField | undefined {
    const where = [...path, ...at];
    const expression = this.#problems.try(() => compileExpression(text, environment, where));
    if (!expression) return undefined;
    const problem = wanted && mismatch(expression.type, wanted, this.#types);
    if (problem !== undefined) this.#problems.report(where, `${text.shown} does not fit here: ${problem}`);
    if (expression.usesOmit && !text.standalone) {
      this.#problems.report(
        where,
        `omit() leaves out a whole field, and ${text.shown} is only a part of one`,
      );
    }
    return { at, expression, perElement: [...expression.references].some((name) => loops.has(name)) };
  }

  /** Each element of a loop must lead to another object, and every object has a name. */
  #checkIdentity(
    { externalRef }: DefinitionResource,
    fields: readonly ComputedField[],
    loops: ReadonlySet<string>,
    path: Path,
  ): void {
    const identity = fields.filter(({ at }) => /^metadata\.(name|namespace)$/.test(formatPath(at)));
    for (const { at, expression } of identity) {
      if (expression.usesOmit && !externalRef && at[1] === "name") {
        this.#problems.report([...path, "name"], "a name cannot be left out with omit()");
      }
    }
    const used = new Set(identity.flatMap(({ expression }) => [...expression.references]));
    const unused = [...loops].filter((name) => !used.has(name));
    if (unused.length === 0) return;
    const sentence = `the name must depend on ${unused.join(" and ")}: otherwise all objects of the loop have one name`;
    this.#problems.report([...path, "name"], sentence);
  }

  #dimensions(
    { forEach = [] }: DefinitionResource,
    environment: Environment,
    path: Path,
  ): (Dimension & { readonly element: CelType })[] {
    return forEach.flatMap((dimension, index) =>
      Object.entries(dimension).flatMap(([name, text]) => {
        const at = [...path, index, name];
        const list = this.#problems.try(() => compileExpression(onlyCel(text, at), environment, at));
        if (!list) return [];
        const { type } = list;
        if (type.kind !== "list" && type.kind !== "dyn") {
          this.#problems.report(at, `${text} must be a list, and it is of type ${formatType(type)}`);
        }
        if (list.usesOmit) this.#problems.report(at, "omit() can be used in templates only");
        return [{ name, list, element: type.kind === "list" ? (type.params[0] as CelType) : types.dyn }];
      }),
    );
  }

  #readyWhen({ resource, schema, type }: KnownResource, environment: Environment, path: Path): Expression[] {
    const one = schema ? this.#types.typeOf(schema, typeName(resource.id)) : types.dyn;
    const isCollection = type === "collection" || type === "externalCollection";
    const inside = isCollection ? environment.extend({ variables: { each: one } }) : environment;
    const allowed = isCollection
      ? ["each", ...(type === "externalCollection" ? [resource.id] : [])]
      : [resource.id];
    const found = this.#truths(resource.readyWhen, inside, path);
    for (const [index, { references }] of found.entries()) {
      const foreign = [...references].filter((name) => this.#isVariable(name) && !allowed.includes(name));
      if (foreign.length === 0) continue;
      const sentence = `readyWhen looks at ${allowed[0]} alone, and this reads ${foreign.join(" and ")}`;
      this.#problems.report([...path, index], sentence);
    }
    return found;
  }

  #isVariable(name: string): boolean {
    if (name === "schema" || name === "each") return true;
    return (this.#definition.spec.resources ?? []).some(({ id }) => id === name);
  }

  #truths(texts: readonly string[] | undefined, environment: Environment, path: Path): Expression[] {
    return (texts ?? []).flatMap((text, index) => {
      const at = [...path, index];
      const expression = this.#problems.try(() => compileExpression(onlyCel(text, at), environment, at));
      if (!expression) return [];
      const type = isOptionalType(expression.type) ? (expression.type.params[0] as CelType) : expression.type;
      if (type.kind !== "bool" && type.kind !== "dyn") {
        this.#problems.report(
          at,
          `${text} must be true or false, and it is of type ${formatType(expression.type)}`,
        );
      }
      if (expression.usesOmit) this.#problems.report(at, "omit() can be used in templates only");
      return [expression];
    });
  }

  // ------------------------------------------------------------------------------------ status

  #status(environment: Environment): ComputedField[] {
    const { conditions: _, ...fields } = this.#definition.spec.schema.status ?? {};
    const path: Path = ["spec", "schema", "status"];
    this.#refusePlain(fields, path);
    return scanTemplate(fields, undefined, path, this.#problems).flatMap((each) => {
      const field = this.#field(each, environment, path, new Set());
      if (!field) return [];
      const where = [...path, ...field.at];
      if (field.expression.usesOmit) this.#problems.report(where, "omit() can be used in templates only");
      if (![...field.expression.references].some((name) => this.#isVariable(name))) {
        this.#problems.report(where, "a field of the status reads a resource or the schema");
      }
      return [field];
    });
  }

  /** A status shows what is: a value that never changes has no place in it. */
  #refusePlain(value: unknown, path: Path): void {
    if (Array.isArray(value))
      for (const [index, item] of value.entries()) this.#refusePlain(item, [...path, index]);
    else if (isObject(value)) {
      for (const [name, field] of Object.entries(value)) this.#refusePlain(field, [...path, name]);
    } else if (typeof value !== "string" || !value.includes("${")) {
      this.#problems.report(path, "a field of the status is an expression: ${…}");
    }
  }

  #conditions(environment: Environment): Expression[] {
    const written = this.#definition.spec.schema.status?.conditions;
    if (written === undefined) return [];
    const path: Path = ["spec", "schema", "status", "conditions"];
    if (!Array.isArray(written)) {
      this.#problems.report(path, "conditions are a list of expressions");
      return [];
    }
    const inside = withConditions(environment);
    return written.flatMap((text, index) => {
      const at = [...path, index];
      if (typeof text !== "string") {
        this.#problems.report(at, "a condition is an expression: ${runtime.newCondition({…})}");
        return [];
      }
      const expression = this.#problems.try(() => compileExpression(onlyCel(text, at), inside, at));
      if (!expression) return [];
      const { type } = expression;
      const one = type.kind === "list" ? (type.params[0] as CelType) : type;
      if (one.name !== "kro.run.Condition" && one.kind !== "dyn") {
        const sentence = `${text} must be runtime.newCondition(…) or a list of them, and it is of type ${formatType(type)}`;
        this.#problems.report(at, sentence);
      }
      return [expression];
    });
  }
}

/** No variable has such a name: `schema.spec` is a field and never a type. */
function typeName(variable: string): string {
  return `__type_${variable}`;
}

function typeOf({ externalRef, forEach = [] }: DefinitionResource): GraphNode["type"] {
  if (externalRef) return externalRef.metadata?.selector ? "externalCollection" : "external";
  return forEach.length > 0 ? "collection" : "resource";
}

/** `apps/v1/Deployment`, for messages and records. */
export function kindText(kind: AnyKind): string {
  return `${apiVersionOf(kind)}/${kind.kind}`;
}
