/** A file-based catalog: the package, its channel, and every release that its bundle was made for. */
import { parseAllDocuments } from "yaml";
import type { OperatorParts, Project } from "../project.ts";
import { clusterServiceVersion, csvName, DEFAULT_CHANNEL } from "./bundle.ts";
import type { Site } from "./site.ts";
import { yamlOf } from "./yaml-text.ts";

interface Blob {
  readonly schema: string;
  readonly name: string;
  readonly [field: string]: unknown;
}

/** `before` is the catalog as it was: releases in it stay, in the order of their versions. */
export function catalogOf(project: Project, parts: OperatorParts, site: Site, before = ""): string {
  const { name } = parts;
  const channel = project.about?.bundle?.channel ?? DEFAULT_CHANNEL;
  const own = bundleOf(project, parts, site);
  const released = blobsOf(before).filter((each) => each.schema === "olm.bundle" && each.name !== own.name);
  const bundles = [...released, own].sort((a, b) => compareVersions(versionOf(a), versionOf(b)));
  const entries = bundles.map((each, index) => {
    const replaced = bundles[index - 1];
    return { name: each.name, ...(replaced ? { replaces: replaced.name } : {}) };
  });
  return yamlOf(
    { schema: "olm.package", name, defaultChannel: channel, description: project.about?.description ?? name },
    { schema: "olm.channel", package: name, name: channel, entries },
    ...bundles,
  );
}

function bundleOf(project: Project, parts: OperatorParts, site: Site): Blob {
  const { name, resources } = parts;
  const { metadata, spec } = clusterServiceVersion(project, parts, site) as {
    metadata: { annotations: object };
    spec: Record<string, unknown>;
  };
  const repository = project.about?.bundle?.image ?? `${site.values.image.repository}-bundle`;
  const kinds = resources.flatMap((resource) => {
    const { group, names, versions } = resource.crd().spec;
    return versions.map(({ name: version }) => ({ group, kind: names.kind, version }));
  });
  const shown = ["displayName", "description", "keywords", "links", "maintainers", "maturity", "provider"];
  return {
    schema: "olm.bundle",
    package: name,
    name: csvName(name, project),
    image: `${repository}:${project.version}`,
    properties: [
      ...kinds.map((value) => ({ type: "olm.gvk", value })),
      { type: "olm.package", value: { packageName: name, version: project.version } },
      {
        type: "olm.csv.metadata",
        value: {
          annotations: metadata.annotations,
          customResourceDefinitions: spec["customresourcedefinitions"],
          installModes: spec["installModes"],
          ...Object.fromEntries(shown.map((key) => [key, spec[key]])),
        },
      },
    ],
    relatedImages: spec["relatedImages"],
  };
}

function blobsOf(text: string): Blob[] {
  const documents = parseAllDocuments(text);
  if ("empty" in documents) return [];
  return documents.map((document) => document.toJS() as Blob).filter((blob) => blob !== null);
}

function versionOf({ name }: Blob): string {
  return name.slice(name.indexOf(".v") + 2);
}

/** As semantic versioning orders them: a release comes after its candidates. */
export function compareVersions(a: string, b: string): number {
  const [[core, pre], [otherCore, otherPre]] = [split(a), split(b)];
  return core.localeCompare(otherCore, "en", { numeric: true }) || comparePre(pre, otherPre);
}

function split(version: string): [string, string] {
  const [core = "", ...pre] = (version.split("+")[0] ?? "").split("-");
  return [core, pre.join("-")];
}

function comparePre(a: string, b: string): number {
  if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
  return a.localeCompare(b, "en", { numeric: true });
}
