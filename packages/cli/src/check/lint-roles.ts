/** Permissions that an operator should not have: wildcards, dangerous ones, and what its code never uses. */
import type { PolicyRule } from "@keelson/runtime";
import { type Permission, permissionsOf } from "@keelson/runtime/internal";
import type { OperatorParts } from "../project.ts";
import type { Finding } from "./finding.ts";
import type { Sources } from "./sources.ts";

/** What gives its holder more than it says. */
const DANGEROUS: Readonly<Record<string, string>> = {
  "rbac.authorization.k8s.io/roles": "may give itself permissions",
  "rbac.authorization.k8s.io/clusterroles": "may give itself permissions",
  "rbac.authorization.k8s.io/rolebindings": "may give others permissions",
  "rbac.authorization.k8s.io/clusterrolebindings": "may give others permissions",
  "/pods/exec": "may run commands in any pod",
  "/serviceaccounts/token": "may act as any service account",
};
const WRITING = ["create", "update", "patch"];

export function lintRoles(
  { controllers, namespaces }: OperatorParts,
  rules: readonly PolicyRule[],
  sources: Sources,
): Finding[] {
  return [
    ...rules.filter(isWild).map(
      (rule): Finding => ({
        ...{ rule: "wildcard", severity: "error" },
        message: `the role has a wildcard on ${rule.resources.join(", ") || "everything"}`,
        fix: "name the kinds and verbs that the controllers use",
        ...sources.find(/allow(Subresource)?\(/),
      }),
    ),
    ...rules.flatMap((rule) => dangerous(rule, namespaces === undefined, sources)),
    ...controllers.flatMap((each) => unused(permissionsOf(each), each.writes, sources)),
  ];
}

function isWild({ apiGroups, resources, verbs }: PolicyRule): boolean {
  return [...apiGroups, ...resources, ...(verbs as readonly string[])].some((each) => each.includes("*"));
}

function dangerous(
  { apiGroups, resourceNames, resources, verbs }: PolicyRule,
  everywhere: boolean,
  sources: Sources,
) {
  if (resourceNames !== undefined || !verbs.some((verb) => WRITING.includes(verb))) return [];
  return resources.flatMap((resource): Finding[] => {
    const what = DANGEROUS[`${apiGroups[0]}/${resource}`];
    if (what === undefined) return [];
    return [
      {
        ...{ rule: "dangerous-permission", severity: "warning" },
        message: `with ${verbs.join(", ")} on ${resource} the operator ${what}${everywhere ? " in every namespace" : ""}`,
        fix: "limit it by names, or to the namespaces of operator({ namespaces })",
        ...sources.find(
          new RegExp(`allow(Subresource)?\\([^)]*${resource.split("/")[0]?.replace(/s$/, "")}`, "i"),
        ),
      },
    ];
  });
}

/** A grant that the rest of the declaration gives already, or whose kind the code names nowhere else. */
function unused(all: readonly Permission[], grants: readonly Permission[], sources: Sources): Finding[] {
  return grants.flatMap((grant): Finding[] => {
    const { kind, subresource, verbs } = grant;
    const place = sources.find(new RegExp(`allow(Subresource)?\\(\\s*${kind.kind}\\b`));
    const what = `${verbs.join(", ")} on ${kind.kind}${subresource === undefined ? "" : `/${subresource}`}`;
    const given = all.filter(
      (each) => each.kind.kind === kind.kind && each.kind.group === kind.group && each !== grant,
    );
    const others = given.filter(
      (each) => each.subresource === subresource && !isSame(each, grant) && !each.names,
    );
    const covered = verbs.every((verb) => others.some((each) => each.verbs.includes(verb) && !each.internal));
    const used = sources.mentions(kind.kind);
    if (!covered && used) return [];
    return [
      {
        ...{ rule: "unused-permission", severity: "warning" },
        message: covered
          ? `${what} is granted twice`
          : `${what} is granted, and nothing in the code uses ${kind.kind}`,
        fix: covered ? "remove it from writes: owns or reads give it already" : "remove it from writes",
        ...place,
      },
    ];
  });
}

function isSame(a: Permission, b: Permission): boolean {
  return a.verbs === b.verbs && a.names === b.names;
}
