/** Which objects a list, a watch or a deletecollection is about. */
import {
  CoreError,
  type FieldSelector,
  type LabelSelector,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "@keelson/core";
import { everything, lookupTable, requiredFieldValue } from "@keelson/core/internal";
import { goQuote } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest } from "../contracts/status-error.ts";
import { type ApiResource, apiVersionText } from "../registry/api-resource.ts";

export interface Selection {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  /** Nothing is filtered out. */
  readonly empty: boolean;
  /** The one name that can match, if the selectors say so. */
  readonly name: string | undefined;
  /** Fields are selected that only the request's version is sure to have: objects must be converted first. */
  readonly ofVersion: boolean;
  matches(object: ApiObject): boolean;
}

type FieldReader = (object: ApiObject) => string;

const metadataFields: Readonly<Record<string, FieldReader>> = lookupTable({
  "metadata.name": (object) => object.metadata.name,
  "metadata.namespace": (object) => object.metadata.namespace ?? "",
});

/** Aliases that older clients use. */
const renamed: Readonly<Record<string, string>> = lookupTable({ "spec.host": "spec.nodeName" });

export function parseSelection(
  resource: ApiResource,
  version: string,
  query: URLSearchParams,
  pathName = "",
): Selection {
  const labels = readSelector(() => parseLabelSelector(query.get("labelSelector") ?? "")) ?? everything;
  let fields = readSelector(() => parseFieldSelector(query.get("fieldSelector") ?? ""));
  const known = fieldReaders(resource, version);
  const readers = new Map<string, FieldReader>();
  const requirements = fields.requirements.map((requirement) => {
    const field =
      resource.resource === "pods" ? (renamed[requirement.field] ?? requirement.field) : requirement.field;
    const reader = known.all[field];
    if (!reader) throw badRequest(unsupported(field, known.special, resource.kind));
    readers.set(field, reader);
    return { ...requirement, field };
  });
  fields = { requirements };
  // The name is what was authorized: selectors may narrow it and never widen it.
  if (pathName && requirements.length > 0) {
    if (requiredFieldValue(fields, "metadata.name") !== pathName)
      throw badRequest("fieldSelector metadata.name doesn't match requested name");
  } else if (pathName) {
    fields = { requirements: [{ field: "metadata.name", operator: "=", value: pathName }] };
    readers.set("metadata.name", metadataFields["metadata.name"] as FieldReader);
  }
  const noLabels = labels.requirements.length === 0;
  const noFields = fields.requirements.length === 0;
  return {
    labels,
    fields,
    empty: noLabels && noFields,
    name: requiredFieldValue(fields, "metadata.name"),
    ofVersion:
      resource.custom &&
      resource.storageVersion !== apiVersionText(resource, version) &&
      fields.requirements.some(({ field }) => !metadataFields[field]),
    matches: (object) =>
      (noLabels || matchesLabels(labels, object.metadata.labels)) &&
      (noFields || matchesFields(fields, (field) => readers.get(field)?.(object))),
  };
}

function fieldReaders(resource: ApiResource, version: string) {
  const own = resource.strategy.selectableFields;
  const custom = resource.type.selectableFields?.(version);
  return {
    all: lookupTable<FieldReader | undefined>({ ...metadataFields, ...own, ...custom }),
    special: own !== undefined || resource.custom,
  };
}

function unsupported(field: string, special: boolean, kind: string): string {
  if (special && kind === "Job") return `field label ${goQuote(field)} not supported for Job`;
  return special
    ? `field label not supported: ${field}`
    : `${goQuote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

function readSelector<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof CoreError) throw badRequest(error.message);
    throw error;
  }
}
