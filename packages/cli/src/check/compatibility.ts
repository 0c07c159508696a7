/** Whether objects and clients of a released CRD still work with the new one. */
import type { CrdVersion, CustomResourceDefinitionObject } from "@keelson/schema";
import { compareSchemas } from "./compare-schemas.ts";
import type { FieldFinding } from "./finding.ts";

/** Every way in which the new CRD breaks what the released one allowed. */
export function compareCrds(
  released: CustomResourceDefinitionObject,
  current: CustomResourceDefinitionObject | undefined,
): FieldFinding[] {
  const { kind } = released.spec.names;
  const found = (rule: string, message: string, fix: string): FieldFinding => ({
    ...{ rule, severity: "error", kind, path: [], message, fix },
  });
  if (current === undefined) {
    return [
      found(
        "removed-kind",
        `${kind} was released and is gone`,
        "export its resource again; to retire a kind, stop reconciling it and say so in a release first",
      ),
    ];
  }
  const findings: FieldFinding[] = [];
  if (released.spec.scope !== current.spec.scope) {
    findings.push(
      found(
        "changed-scope",
        `${kind} was ${released.spec.scope} and is ${current.spec.scope}`,
        "a scope cannot change: make a new kind",
      ),
    );
  }
  for (const version of released.spec.versions) {
    const now = current.spec.versions.find(({ name }) => name === version.name);
    findings.push(...compareVersion(kind, version, now, current.spec.versions.length > 1));
  }
  return findings;
}

function compareVersion(
  kind: string,
  released: CrdVersion,
  current: CrdVersion | undefined,
  several: boolean,
): FieldFinding[] {
  const about = { severity: "error", kind, path: [] } as const;
  if (current === undefined) {
    if (!released.served && !released.storage) return [];
    return [
      {
        ...about,
        rule: "removed-version",
        message: `${kind} ${released.name} was released and is gone`,
        fix: `keep ${released.name} among its versions, with a conversion, until no object is stored in it`,
      },
    ];
  }
  const found = compareSchemas(released.schema.openAPIV3Schema, current.schema.openAPIV3Schema).map(
    (each) => ({
      ...each,
      kind,
      message: several ? `${each.message}, in ${released.name}` : each.message,
    }),
  );
  if (released.subresources?.scale && !current.subresources?.scale) {
    found.push({
      ...about,
      rule: "removed-scale",
      message: `${kind} could be scaled and cannot be`,
      fix: "keep scale in its resource: autoscalers and kubectl scale use it",
    });
  }
  return found;
}
