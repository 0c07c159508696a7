/** Everything that `keelson check` looks at, in one list. */
import { inOrder, installationOf } from "../generate/manifests.ts";
import { permissionsFor } from "../generate/rbac.ts";
import type { Site } from "../generate/site.ts";
import type { OperatorParts, Project } from "../project.ts";
import { lintManifests } from "./admitted.ts";
import { lintCapability } from "./capability.ts";
import { compareCrds } from "./compatibility.ts";
import type { FieldFinding, Finding } from "./finding.ts";
import { lintRoles } from "./lint-roles.ts";
import { lintCrd } from "./lint-schema.ts";
import type { Release } from "./release.ts";
import { Sources } from "./sources.ts";

export interface CheckOptions {
  readonly site: Site;
  /** What the CRDs are compared with. */
  readonly release: Release | undefined;
}

export async function check(
  project: Project,
  parts: OperatorParts,
  options: CheckOptions,
): Promise<Finding[]> {
  const { release, site } = options;
  const sources = new Sources(project.directory);
  const crds = parts.resources.map((resource) => resource.crd());
  const { cluster, own, watched } = permissionsFor(parts);
  const changed = (release?.crds ?? []).flatMap((released) =>
    compareCrds(
      released,
      crds.find(({ metadata }) => metadata.name === released.metadata.name),
    ),
  );
  return [
    ...changed.map((each) => placed(each, sources)),
    ...crds.flatMap(lintCrd).map((each) => placed(each, sources)),
    ...lintRoles(parts, [...cluster, ...own, ...watched], sources),
    ...(await lintManifests(inOrder(installationOf(parts, site), site.values))),
    ...lintCapability(project, parts, sources),
  ];
}

function placed({ kind, path, ...finding }: FieldFinding, sources: Sources): Finding {
  const { message } = finding;
  return {
    ...finding,
    message: path.length === 0 ? message : `${kind}: ${message}`,
    ...sources.field(kind, path),
  };
}
