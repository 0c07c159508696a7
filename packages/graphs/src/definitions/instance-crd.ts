/** Keeps the CRD of a graph's instances: made once, changed only in ways that instances survive. */
import {
  type Condition,
  deepEqual,
  dynamicKind,
  findCondition,
  type JsonObject,
  type Kind,
  parseJson,
  type Stored,
} from "@keelson/core";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import type { DefinitionSpec } from "../api/definition.ts";
import { breakingChanges } from "../crd/compare.ts";
import { GraphError } from "../errors.ts";
import { kindText } from "../graph/compile.ts";
import { type Graph, ownedKinds } from "../graph/graph.ts";
import { definitionLabel, definitionLabels, labelValue } from "../instance/marks.ts";

/** CRDs, as far as this looks at them. */
export type StoredCrd = Stored<
  CustomResourceDefinitionObject & { readonly status?: { readonly conditions?: readonly Condition[] } }
>;

export const CustomResourceDefinition = dynamicKind({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  resource: "customresourcedefinitions",
  scope: "Cluster",
}) as unknown as Kind<
  CustomResourceDefinitionObject,
  "apiextensions.k8s.io",
  "CustomResourceDefinition",
  StoredCrd
>;

/** On a generated CRD: every kind that instances may still have children of. */
const kindsAnnotation = "graphs.keelson.dev/kinds";
/** On a generated CRD: the definition that was last taken. A broken change leaves it in force, also over a restart. */
const acceptedAnnotation = "graphs.keelson.dev/accepted";
/** Annotations of an object have 256 KiB in all. */
const longestAccepted = 200_000;

/** Whose it is. */
export interface Owner {
  readonly name: string;
  readonly uid: string;
}

/** The CRD as it should be; `left` are kinds of earlier definitions that instances still have children of. */
export function desiredCrd(
  graph: Graph,
  owner: Owner,
  spec: DefinitionSpec,
  left: readonly string[],
): CustomResourceDefinitionObject {
  const { metadata } = graph.crd;
  const kinds = [...new Set([...ownedKinds(graph).map(kindText), ...left])].sort();
  const accepted = JSON.stringify(spec);
  return {
    ...graph.crd,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...definitionLabels(owner) },
      annotations: {
        ...metadata.annotations,
        [kindsAnnotation]: kinds.join(","),
        ...(accepted.length <= longestAccepted ? { [acceptedAnnotation]: accepted } : {}),
      },
    },
  };
}

/** Kinds that instances may have children of, as `apps/v1/Deployment`. */
export function recordedKinds(crd: StoredCrd | undefined): string[] {
  return (crd?.metadata.annotations?.[kindsAnnotation] ?? "").split(",").filter(Boolean);
}

/** The definition that was last taken for this CRD. */
export function acceptedSpec(crd: StoredCrd | undefined): DefinitionSpec | undefined {
  const text = crd?.metadata.annotations?.[acceptedAnnotation];
  return text === undefined ? undefined : (parseJson(text) as unknown as DefinitionSpec);
}

/** The merge patch that brings the CRD there; undefined when it is. @throws GraphError */
export function crdPatch(
  existing: StoredCrd,
  wanted: CustomResourceDefinitionObject,
  options: { readonly owner: Owner; readonly allowBreaking: boolean },
): JsonObject | undefined {
  refuseForeign(existing, options.owner);
  const broken = breakingChanges(existing, wanted);
  if (broken.length > 0 && !options.allowBreaking) {
    const message =
      `instances of ${wanted.spec.names.kind} may not survive the change: ${broken.join(", ")}; take it back, or allow ` +
      'it with the annotation kro.run/allow-breaking-changes="true"';
    throw new GraphError("BreakingChange", [{ path: ["spec", "schema"], message }]);
  }
  const { labels } = wanted.metadata;
  // A definition that is too long to be kept leaves no earlier one in its place.
  const annotations: Record<string, string | null> = {
    [acceptedAnnotation]: null,
    ...wanted.metadata.annotations,
  };
  const isKept = annotations[acceptedAnnotation] !== null;
  const isMarked =
    covers(existing.metadata.labels, labels) &&
    covers(existing.metadata.annotations, wanted.metadata.annotations) &&
    (isKept || acceptedSpec(existing) === undefined);
  const { names, versions } = wanted.spec;
  const isSame = covers(existing.spec.names, names) && deepEqual(versionsOf(existing), versionsOf(wanted));
  if (isMarked && isSame) return undefined;
  return {
    metadata: { labels: labels ?? {}, annotations },
    ...(isSame ? {} : { spec: { names: { shortNames: null, categories: null, ...names }, versions } }),
  } as unknown as JsonObject;
}

function versionsOf({ spec }: Pick<CustomResourceDefinitionObject, "spec">) {
  return spec.versions.map(({ name, schema, additionalPrinterColumns }) => ({
    name,
    schema,
    additionalPrinterColumns: additionalPrinterColumns?.map(({ priority, ...rest }) =>
      priority ? { ...rest, priority } : rest,
    ),
  }));
}

/** Whether all that is wanted is there; more may be. */
function covers(existing: object | undefined, wanted: object | undefined): boolean {
  return Object.entries(wanted ?? {}).every(([key, value]) =>
    deepEqual((existing as Record<string, unknown> | undefined)?.[key], value),
  );
}

function refuseForeign({ metadata }: StoredCrd, { name }: Owner): void {
  const other = metadata.labels?.[definitionLabel];
  if (other === labelValue(name)) return;
  const message =
    other === undefined
      ? `the CustomResourceDefinition ${metadata.name} exists and no definition made it; give this one another kind or group`
      : `the CustomResourceDefinition ${metadata.name} belongs to the definition ${other}; give one of them another kind or group`;
  throw new GraphError("NotOurs", [{ path: ["spec", "schema", "kind"], message }]);
}

/** Whether the server serves the kind. */
export function isEstablished(crd: StoredCrd): boolean {
  return findCondition(crd.status?.conditions as Condition[] | undefined, "Established")?.status === "True";
}
