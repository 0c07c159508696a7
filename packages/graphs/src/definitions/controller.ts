/** The controller of definitions: checks each, keeps the CRD of its instances, and runs their controller. */
import { ClientError, isForbidden, isNotFound } from "@keelson/client";
import {
  type AnyKind,
  deepEqual,
  type JsonObject,
  objectKey,
  parseApiVersion,
  type Stored,
} from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import {
  allow,
  allowSubresource,
  type Context,
  type Controller,
  controller,
  controllerLabel,
  done,
  type Outcome,
  ref,
  type Startable,
  slotLabel,
} from "@keelson/runtime";
import {
  type DefinitionObject,
  type DefinitionSpec,
  defaultGroup,
  ResourceGraphDefinition,
} from "../api/definition.ts";
import { pluralOf } from "../crd/plural.ts";
import { GraphError } from "../errors.ts";
import { compileGraph, kindText } from "../graph/compile.ts";
import { type Graph, ownedKinds } from "../graph/graph.ts";
import { instanceController } from "../instance/controller.ts";
import {
  breakingAnnotation,
  controllerName,
  definitionLabel,
  finalizer,
  labelValue,
} from "../instance/marks.ts";
import { slotOf } from "../instance/slots.ts";
import { mergePatch } from "../json-patch.ts";
import { OpenApiDocuments } from "../openapi/documents.ts";
import {
  acceptedSpec,
  CustomResourceDefinition,
  crdPatch,
  desiredCrd,
  isEstablished,
  recordedKinds,
  type StoredCrd,
} from "./instance-crd.ts";
import {
  accepted,
  type DefinitionReport,
  definitionStatus,
  kindReady,
  kindUnready,
  notRunning,
  refused,
  running,
} from "./status.ts";

/** How definitions are run. */
export interface GraphOptions {
  /** Deletes the CRD of a definition that goes, and with it every instance. Default: false, as in kro. */
  readonly deleteCrds?: boolean;
}

type StoredDefinition = Stored<DefinitionObject>;

/** What a running controller of instances was made from. */
interface Made {
  readonly uid: string;
  readonly spec: DefinitionSpec;
  readonly retired: readonly string[];
  readonly graph: Graph;
}

const made = new WeakMap<Startable, Made>();
/** A kind that was missing may have been installed; nothing tells us. */
const lookAgainMs = 10_000;
/** Instances are not watched by who waits for their end. */
const endingMs = 1_000;

/** The name of the CRD of a definition's instances. */
export function crdName({ schema }: DefinitionSpec): string {
  return `${pluralOf(schema.kind)}.${schema.group ?? defaultGroup}`;
}

/** A controller that runs every ResourceGraphDefinition of the cluster: `operator({ controllers: [graphs()] })`. */
export function graphs(options: GraphOptions = {}): Controller {
  return controller(ResourceGraphDefinition, {
    name: "graphs",
    status: "manual",
    finalizer,
    reads: { crd: ref(CustomResourceDefinition, ({ spec }: DefinitionObject) => ({ name: crdName(spec) })) },
    writes: [
      allow(CustomResourceDefinition, [
        "create",
        "patch",
        ...(options.deleteCrds ? (["delete"] as const) : []),
      ]),
      allowSubresource(ResourceGraphDefinition, "status", ["patch"]),
    ],
    reconcile: async (definition, ctx) =>
      await new DefinitionRun(definition as StoredDefinition, ctx as unknown as DefinitionContext).run(),
    finalize: async (definition, ctx) =>
      await goodbye(definition as StoredDefinition, ctx as unknown as DefinitionContext, options),
  });
}

type DefinitionContext = Context & { readonly read: { readonly crd: StoredCrd | undefined } };

/** As the granted client is used here: the types of kinds that come at run time say nothing. */
interface Verbs {
  create(object: object): Promise<unknown>;
  patch(ref: object, patch: object): Promise<unknown>;
  delete(ref: object): Promise<unknown>;
}

function crds(ctx: DefinitionContext): Verbs {
  return ctx.client.kind(CustomResourceDefinition as never) as unknown as Verbs;
}

class DefinitionRun {
  readonly #definition: StoredDefinition;
  readonly #ctx: DefinitionContext;
  readonly #generation: number;

  constructor(definition: StoredDefinition, ctx: DefinitionContext) {
    this.#definition = definition;
    this.#ctx = ctx;
    this.#generation = definition.metadata.generation ?? 0;
  }

  async run(): Promise<Outcome> {
    let graph: Graph;
    try {
      graph = await this.#graph(this.#definition.spec);
    } catch (error) {
      if (!(error instanceof GraphError)) throw error;
      return await this.#refuse(error);
    }
    const crd = await this.#crd(graph);
    if (crd instanceof GraphError) {
      await this.#report({ accepted, kind: kindUnready(crd.message), graph });
      await this.resume();
      return done();
    }
    if (!crd || !isEstablished(crd)) {
      await this.#report({ accepted, graph });
      return done();
    }
    return await this.#serve(graph, crd);
  }

  /** The graph of the controller that runs already, or a new one. @throws GraphError */
  async #graph(spec: DefinitionSpec): Promise<Graph> {
    const { name } = this.#definition.metadata;
    const current = this.#running(spec);
    if (current && current.uid === this.#definition.metadata.uid && deepEqual(current.spec, spec))
      return current.graph;
    const { server } = this.#ctx;
    const documents = new OpenApiDocuments((path) => server.read(path));
    return await compileGraph({ metadata: { name }, spec }, { discover: server.discover, documents });
  }

  #running({ schema }: DefinitionSpec): Made | undefined {
    const { kind, group = defaultGroup } = schema;
    const name = labelValue(`${pluralOf(kind)}.${group}`);
    const found = this.#ctx.controllers.get(name);
    return found && made.get(found);
  }

  async #refuse(error: GraphError): Promise<Outcome> {
    const finding = refused(error.message);
    const isNew =
      this.#definition.status?.conditions?.every(({ message }) => message !== error.message) ?? true;
    await this.#report({ accepted: finding });
    if (isNew) this.#ctx.event("Warning", "InvalidResourceGraph", error.message);
    await this.resume();
    // A kind that is missing may be installed at any time.
    if (error.code === "UnknownKind") this.#ctx.recheck(lookAgainMs);
    return done();
  }

  /** What was last taken stays in force while its successor is not: a process that has just started begins with it. */
  async resume(): Promise<void> {
    const { crd } = this.#ctx.read;
    const spec = acceptedSpec(crd);
    const isOurs = crd?.metadata.labels?.[definitionLabel] === labelValue(this.#definition.metadata.name);
    if (!crd || !spec || !isOurs || !isEstablished(crd) || this.#running(spec)) return;
    try {
      await this.#start(await this.#graph(spec), spec, crd);
    } catch (error) {
      if (!(error instanceof GraphError)) throw error;
      this.#ctx.log.warn("the definition that was last taken cannot be followed any more", { error });
    }
  }

  /** The CRD as it is now; undefined when it was just made. */
  async #crd(graph: Graph): Promise<StoredCrd | GraphError | undefined> {
    const { crd: existing } = this.#ctx.read;
    const { name, uid, annotations } = this.#definition.metadata;
    const owner = { name, uid };
    const wanted = desiredCrd(graph, owner, this.#definition.spec, recordedKinds(existing));
    try {
      if (!existing) {
        await crds(this.#ctx).create(wanted);
        return undefined;
      }
      const patch = crdPatch(existing, wanted, {
        owner,
        allowBreaking: annotations?.[breakingAnnotation] === "true",
      });
      if (!patch) return existing;
      return (await crds(this.#ctx).patch(
        { name: existing.metadata.name },
        { type: "merge", body: patch },
      )) as StoredCrd;
    } catch (error) {
      if (error instanceof GraphError) return error;
      await this.#report({ accepted, kind: kindUnready(errorText(error)), graph });
      throw error;
    }
  }

  async #serve(graph: Graph, crd: StoredCrd): Promise<Outcome> {
    const kind = kindReady(graph.kind.kind);
    try {
      await this.#start(graph, this.#definition.spec, crd);
    } catch (error) {
      await this.#report({ accepted, kind, controller: notRunning(errorText(error)), graph });
      throw error;
    }
    await this.#report({ accepted, kind, controller: running, graph });
    await this.#forgetRetired(graph, crd);
    return done();
  }

  async #start(graph: Graph, spec: DefinitionSpec, crd: StoredCrd): Promise<void> {
    const { name, uid } = this.#definition.metadata;
    const current = new Set(ownedKinds(graph).map(kindText));
    const retired = recordedKinds(crd).filter((each) => !current.has(each));
    const before = this.#running(spec);
    if (before && before.uid === uid && deepEqual(before.spec, spec) && deepEqual(before.retired, retired))
      return;
    const kinds = await this.#discovered(retired);
    const next = instanceController({ graph, definition: { name, uid }, retired: kinds });
    made.set(next, { uid, spec, retired, graph });
    await this.#ctx.controllers.start(next);
  }

  /** Kinds of earlier definitions; one that is no longer served has no objects either. */
  async #discovered(retired: readonly string[]): Promise<AnyKind[]> {
    const kinds: AnyKind[] = [];
    for (const each of retired) {
      const slash = each.lastIndexOf("/");
      try {
        kinds.push(await this.#ctx.server.discover(each.slice(0, slash), each.slice(slash + 1)));
      } catch (error) {
        // A server that does not answer says nothing of its kinds.
        if (!(error instanceof ClientError && error.code === "KindUnknown")) throw error;
        this.#ctx.log.info("a kind of an earlier definition is not served any more", { kind: each });
      }
    }
    return kinds;
  }

  /** Once no instance has children of an earlier definition's kind, the kind is not watched any longer. */
  async #forgetRetired(graph: Graph, crd: StoredCrd): Promise<void> {
    const current = ownedKinds(graph).map(kindText);
    const retired = recordedKinds(crd).filter((each) => !current.includes(each));
    if (retired.length === 0) return;
    const left: string[] = [];
    for (const each of await this.#discovered(retired)) {
      if (await this.#hasChildren(each, graph)) left.push(kindText(each));
    }
    if (left.length > 0) this.#ctx.recheck(lookAgainMs);
    if (left.length === retired.length) return;
    const { name, uid } = this.#definition.metadata;
    const { metadata } = desiredCrd(graph, { name, uid }, this.#definition.spec, left);
    const body = { metadata: { annotations: metadata.annotations } };
    await crds(this.#ctx).patch({ name: crd.metadata.name }, { type: "merge", body });
  }

  async #hasChildren(kind: AnyKind, graph: Graph): Promise<boolean> {
    const { group, version } = parseApiVersion(
      kind.group === "" ? kind.version : `${kind.group}/${kind.version}`,
    );
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const query = new URLSearchParams({
      labelSelector: `${controllerLabel}=${controllerName(graph)},${slotLabel}=${slotOf(kind)}`,
      limit: "1",
    });
    const answer = (await this.#ctx.server.read(`${root}/${kind.resource}?${query}`)) as {
      items?: unknown[];
    };
    return (answer.items?.length ?? 0) > 0;
  }

  async #report(report: Omit<DefinitionReport, "generation">): Promise<void> {
    const { status, metadata } = this.#definition;
    const wanted = definitionStatus(
      { ...report, generation: this.#generation },
      status,
      this.#ctx.clock.now(),
    );
    const patch = mergePatch((status ?? {}) as JsonObject, wanted);
    if (!patch) return;
    const verbs = this.#ctx.client.subresource(
      ResourceGraphDefinition as never,
      "status" as never,
    ) as unknown as Verbs;
    await verbs.patch(
      { name: metadata.name },
      { type: "merge", body: { metadata: { uid: metadata.uid }, status: patch } },
    );
  }
}

/** How many instances are on their way out, and have the finalizer that the controller of instances takes away. */
async function endingInstances({ server }: DefinitionContext, { spec }: StoredCrd): Promise<number> {
  const path = `/apis/${spec.group}/${spec.versions[0]?.name}/${spec.names.plural}`;
  try {
    const { items = [] } = (await server.read(path)) as { items?: Stored[] };
    return items.filter(
      ({ metadata }) => metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer),
    ).length;
  } catch (error) {
    // The kind, or the permission for it, went before the definition.
    if (isNotFound(error) || isForbidden(error)) return 0;
    throw error;
  }
}

/** Instances and their resources stay as they are; so does their CRD, unless it was asked to go. */
async function goodbye(
  definition: StoredDefinition,
  ctx: DefinitionContext,
  { deleteCrds = false }: GraphOptions,
): Promise<Outcome> {
  const { spec, metadata } = definition;
  const { crd } = ctx.read;
  const isOurs = crd?.metadata.labels?.[definitionLabel] === labelValue(metadata.name);
  if (deleteCrds && isOurs && crd) {
    // The controller goes last: instances have finalizers, and it takes them away. A process that just started has none.
    await new DefinitionRun(definition, ctx).resume();
    if (crd.metadata.deletionTimestamp === undefined) await crds(ctx).delete({ name: crd.metadata.name });
    ctx.log.info("the instances of the definition go with it", { definition: objectKey(definition) });
    if (ctx.read.crd)
      return { outcome: "waiting", reason: "Deleting", message: "its instances are still there" };
  }
  const ending = isOurs && crd ? await endingInstances(ctx, crd) : 0;
  if (ending > 0) {
    // Nobody else would take their finalizers away.
    await new DefinitionRun(definition, ctx).resume();
    const message = `${ending} of its instances are being deleted`;
    return { outcome: "waiting", reason: "Deleting", message, recheckMs: endingMs };
  }
  const name = labelValue(crdName(spec));
  const runs = ctx.controllers.get(name);
  // Another definition may have the kind, and this one was refused.
  if (runs && made.get(runs)?.uid === metadata.uid) await ctx.controllers.stop(name);
  return done();
}
