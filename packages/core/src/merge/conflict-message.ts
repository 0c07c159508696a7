/** Conflicts in the words of the API server's answer. */
import type { StatusCause } from "../status.ts";
import { displayManager, managerId } from "./managed-fields.ts";
import { displayPath } from "./path.ts";
import type { ApplyConflict } from "./settle.ts";

/** The message and the causes of the 409. `conflicts` are grouped by owner. */
export function describeConflicts(conflicts: readonly ApplyConflict[]): {
  readonly message: string;
  readonly causes: StatusCause[];
} {
  const causes = conflicts.map(({ owner, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${displayManager(owner)}`,
    field: displayPath(path),
  }));
  if (conflicts.length === 1) {
    const only = causes[0] as StatusCause;
    return { causes, message: `Apply failed with 1 conflict: ${only.message}: ${only.field}` };
  }
  const lines: string[] = [];
  let current = "";
  for (const { owner, path } of conflicts) {
    const heading = `conflicts with ${displayManager(owner)}:`;
    const id = managerId(owner);
    if (id !== current) lines.push(heading);
    current = id;
    lines.push(`- ${displayPath(path)}`);
  }
  return {
    causes,
    message: `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`,
  };
}
