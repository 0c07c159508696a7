/** The installation that a project describes: its values, and what the command line says otherwise. */
import { parseImageReference } from "@keelson/images";
import type { OperatorParts, Project } from "../project.ts";
import { labelsOf, type Site } from "./site.ts";
import { imageOf, readValues, type Values } from "./values.ts";

export interface SiteOptions {
  /** Default: the operator's name. */
  readonly namespace?: string;
  /** Default: as in the values, else the package's name and version. */
  readonly image?: string;
  readonly replicas?: number;
}

export function siteOf(project: Project, parts: OperatorParts, options: SiteOptions): Site {
  const values = readValues(project);
  const { image, replicas = values.replicas } = options;
  const chosen = image === undefined ? values.image : { ...values.image, ...partsOf(image) };
  return {
    namespace: options.namespace ?? parts.name,
    image: imageOf(chosen),
    labels: labelsOf(parts.name, project),
    values: { ...values, image: chosen, replicas },
  };
}

/** As it was written: a short name stays short. */
function partsOf(image: string): Pick<Values["image"], "repository" | "tag" | "digest"> {
  const { digest, tag } = parseImageReference(image);
  const [named = image] = image.split("@");
  const repository = /:[^/]+$/.test(named) ? named.slice(0, named.lastIndexOf(":")) : named;
  return { repository, tag: digest === "" ? tag : "", digest };
}
