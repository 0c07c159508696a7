/** Whether an operator has what the capability level that it claims is about. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { StructuralSchema } from "@keelson/schema";
import { CAPABILITIES, capabilityOf } from "../generate/bundle.ts";
import type { OperatorParts, Project } from "../project.ts";
import type { Finding } from "./finding.ts";
import type { Sources } from "./sources.ts";

/** What shows that an operator does what a level is about. Each level asks for those before it. */
interface Evidence {
  readonly level: (typeof CAPABILITIES)[number];
  readonly lacks: string;
  readonly fix: string;
  readonly holds: (world: { names: readonly string[]; project: Project; sources: Sources }) => boolean;
}

const evidence: readonly Evidence[] = [
  {
    level: "Seamless Upgrades",
    lacks: "no resource has a field for the version or the image of what it runs",
    fix: "add one to the spec, and roll out its changes",
    holds: ({ names }) => names.some((name) => /version|image/i.test(name)),
  },
  {
    level: "Full Lifecycle",
    lacks: "no resource has a kind or a field about backups",
    fix: "add backup and restore",
    holds: ({ names }) => names.some((name) => /backup|snapshot/i.test(name)),
  },
  {
    level: "Deep Insights",
    lacks: "there are neither metrics of its own (operator({ collect })) nor alerts.yaml",
    fix: "count what matters about what it runs, and say when to alert",
    holds: ({ project, sources }) =>
      sources.find(/\bcollect\b\s*[:(,]/) !== undefined || existsSync(join(project.directory, "alerts.yaml")),
  },
  {
    level: "Auto Pilot",
    lacks:
      "nothing is scaled, healed or tuned by itself: no resource has a scale subresource or a field about it",
    fix: "add scale to a resource, or a field that switches scaling on",
    holds: ({ names }) => names.some((name) => /autoscal|scale|tuning|heal/i.test(name)),
  },
];

export function lintCapability(project: Project, parts: OperatorParts, sources: Sources): Finding[] {
  const claimed = capabilityOf(project);
  const upTo = CAPABILITIES.indexOf(claimed);
  const names = parts.resources.flatMap((resource) => {
    const { spec } = resource.crd();
    return [
      spec.names.kind,
      ...spec.versions.flatMap(({ schema, subresources }) => [
        ...fieldNames(schema.openAPIV3Schema),
        ...(subresources?.scale ? ["scale"] : []),
      ]),
    ];
  });
  return evidence
    .filter(({ level }) => CAPABILITIES.indexOf(level) <= upTo)
    .filter(({ holds }) => !holds({ names, project, sources }))
    .map(({ fix, lacks, level }) => ({
      ...{ rule: "capability-level", severity: "warning", file: "package.json" },
      message: `keelson.bundle.capabilities claims ${claimed}, and for ${level} ${lacks}`,
      fix: `${fix}, or claim ${CAPABILITIES[CAPABILITIES.indexOf(level) - 1]}`,
    }));
}

function fieldNames(schema: StructuralSchema): string[] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    name,
    ...fieldNames(field),
  ]);
  return [...inner, ...(schema.items ? fieldNames(schema.items) : [])];
}
