/** `keelson create version`: another version of a resource, with conversions and a test of them. */
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";
import { addVersion } from "./add-version.ts";
import { existingApi } from "./existing-api.ts";
import { formatFiles } from "./format.ts";
import { versionName } from "./names.ts";
import { type ScaffoldFile, type Written, writeFiles } from "./write-files.ts";

/** What was written, and which version objects are stored in. */
export interface CreatedVersion extends Written {
  readonly stored?: string;
}

export function createVersion(
  project: Project,
  { kind, version }: { readonly kind: string; readonly version: string },
): CreatedVersion {
  versionName(version);
  const api = existingApi(project, kind);
  const added = addVersion(api.source, kind, version);
  if (added === undefined) {
    throw new CliError(
      "CannotEdit",
      `${api.path} has a form of its own, and nothing was changed; add the version by hand: versions, storage and conversions`,
    );
  }
  // The one version that a resource has needs no conversion.
  if (added === "there" && !/^\s*versions:/m.test(api.source))
    return { made: [], changed: [], kept: [], same: [api.path] };
  const test: ScaffoldFile = { path: `test/${api.name}-versions.test.ts`, content: testOf(kind, api.name) };
  const files =
    added === "there" ? [test] : [{ path: api.path, content: added.text, replaces: api.source }, test];
  const written = writeFiles(project.directory, files);
  // Deeper in the file by two levels, its longest lines may not fit any more.
  formatFiles(project.directory, written.made);
  return added === "there"
    ? { ...written, same: [api.path, ...written.same] }
    : { ...written, stored: added.stored };
}

function testOf(kind: string, folder: string): string {
  return `/** Conversions between the versions of a ${kind} lose nothing. */
import { checkRoundTrip } from "@keelson/testing";
import { expect, test } from "vitest";
import { ${kind} } from "../src/${folder}/api.ts";

test("a ${kind} is the same after every way there and back", () => {
  expect(checkRoundTrip(${kind}).trips).toBeGreaterThan(0);
});
`;
}
