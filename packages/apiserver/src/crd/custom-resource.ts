/** A definition as a resource that can be served. */
import { createHash } from "node:crypto";
import { deepEqual, validateQualifiedName } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { forbidden } from "../contracts/status-error.ts";
import type { Strategy } from "../contracts/strategy.ts";
import { compareVersions } from "../discovery/version-order.ts";
import {
  type ApiResource,
  type ApiVersion,
  apiVersionText,
  type Subresource,
} from "../registry/api-resource.ts";
import { subdomainName } from "../registry/metadata.ts";
import type { Store } from "../storage/store.ts";
import { customPrinter } from "./columns.ts";
import type { Converter } from "./conversion.ts";
import { customType } from "./custom-type.ts";
import type { Definition, DefinitionNames, DefinitionVersion } from "./definition.ts";

const verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const subresourceVerbs = ["get", "patch", "update"];

export function customResource(
  definition: Definition,
  accepted: DefinitionNames,
  store: Store,
  converter: Converter,
  terminating: boolean,
): ApiResource {
  const served = definition.versions
    .filter((version) => version.served)
    .sort((a, b) => compareVersions(b.name, a.name));
  return {
    group: definition.group,
    resource: accepted.plural,
    singular: accepted.singular,
    kind: accepted.kind,
    listKind: accepted.listKind || `${accepted.kind}List`,
    namespaced: definition.namespaced,
    shortNames: accepted.shortNames,
    categories: accepted.categories,
    versions: new Map(served.map((version) => [version.name, toVersion(definition, version)])),
    storageVersion: apiVersionText(definition, definition.storageVersion),
    table: store.table(`${definition.group}/${accepted.plural}`),
    custom: true,
    returnsDeleted: false,
    ungoverned: false,
    metadataChecks: { full: 0, update: 1, status: 1, qualifiedFinalizers: false },
    strategy: customStrategy(definition, terminating),
    type: customType(definition, converter),
  };
}

function toVersion(definition: Definition, version: DefinitionVersion): ApiVersion {
  const subresources = new Map<string, Subresource>();
  if (version.hasStatus)
    subresources.set("status", {
      name: "status",
      group: definition.group,
      version: version.name,
      kind: definition.names.kind,
      foreign: false,
      verbs: subresourceVerbs,
    });
  if (version.scale)
    subresources.set("scale", {
      name: "scale",
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
      foreign: true,
      verbs: subresourceVerbs,
    });
  const printer = customPrinter(version.columns);
  const text = `${apiVersionText(definition, version.name)} ${definition.names.kind}`;
  return {
    name: version.name,
    verbs,
    subresources,
    storageVersionHash: storageVersionHash(definition),
    ...(version.deprecated && { deprecation: version.deprecationWarning ?? `${text} is deprecated` }),
    printer: () => printer,
  };
}

function storageVersionHash({ group, storageVersion, names }: Definition): string {
  const id = `${group}/${storageVersion}/${names.kind}`;
  return createHash("sha256").update(id).digest().subarray(0, 8).toString("base64");
}

function customStrategy(definition: Definition, terminating: boolean): Strategy {
  const hasStatus = definition.versions.some((version) => version.hasStatus);
  return {
    statusField: hasStatus ? "status" : null,
    allowUnconditionalUpdate: false,
    validateName: subdomainName,
    prepareForCreate(draft) {
      if (terminating)
        throw forbidden(
          { group: definition.group, resource: definition.names.plural },
          draft.metadata.name,
          "create not allowed while custom resource definition is terminating",
        );
      draft.metadata.generation = 1;
    },
    generation: (object, old) => !deepEqual(withoutMetadata(object), withoutMetadata(old)),
    warningsOnCreate: (object) => finalizerWarnings(object.metadata.finalizers ?? []),
    warningsOnUpdate: (object, old) => {
      const before = new Set(old.metadata.finalizers ?? []);
      return finalizerWarnings((object.metadata.finalizers ?? []).filter((name) => !before.has(name)));
    },
  };
}

function withoutMetadata(object: ApiObject) {
  const { metadata: _, ...rest } = object;
  return rest;
}

const standard = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

/** Finalizers without a domain are taken, and advised against. */
function finalizerWarnings(finalizers: readonly string[]): string[] {
  return [...new Set(finalizers)]
    .sort()
    .filter((name) => !name.includes("/") && !standard.has(name) && validateQualifiedName(name).length === 0)
    .map(
      (name) =>
        `metadata.finalizers: "${name}": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`,
    );
}
