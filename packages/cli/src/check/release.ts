/** The CRDs of the last release: from git, from a folder or from a file. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { parseAllDocuments } from "yaml";
import { CliError } from "../errors.ts";

/** What was released, and under which name. */
export interface Release {
  readonly name: string;
  readonly crds: readonly CustomResourceDefinitionObject[];
}

/** Where `keelson generate` writes CRDs, below the project. */
const CRDS = "deploy/kustomize/base/crds";

/** `against` is a path or a git revision. Default: the newest tag. Undefined when nothing was released. */
export function lastRelease(directory: string, against?: string): Release | undefined {
  if (against !== undefined && existsSync(against)) {
    const crds = fromPath(against);
    if (crds.length === 0) throw new CliError("NoRelease", `${against} has no CRDs`);
    return { name: against, crds };
  }
  const revision = against ?? newestTag(directory);
  if (revision === undefined) return undefined;
  const listed = git(directory, ["ls-tree", "-r", "--name-only", revision, "--", `./${CRDS}`]);
  if (listed === undefined) {
    throw new CliError("NoRelease", `${revision} is neither a file nor a revision of this repository`);
  }
  const texts = listed
    .split("\n")
    .filter((path) => path.endsWith(".yaml"))
    .map((path) => git(directory, ["show", `${revision}:./${path}`]) ?? "");
  const release = { name: revision, crds: texts.flatMap(crdsIn) };
  if (against !== undefined && release.crds.length === 0) throw new CliError("NoRelease", lackOf(release));
  return release;
}

/** Why a revision cannot be compared with. */
export function lackOf({ name }: Release): string {
  return `${name} has no CRDs in ${CRDS}; commit what keelson generate writes`;
}

function newestTag(directory: string): string | undefined {
  return git(directory, ["describe", "--tags", "--abbrev=0"])?.trim();
}

function git(directory: string, args: readonly string[]): string | undefined {
  try {
    const stdio = ["ignore", "pipe", "ignore"] as ["ignore", "pipe", "ignore"];
    return execFileSync("git", args, { cwd: directory, encoding: "utf8", stdio, maxBuffer: 64 << 20 });
  } catch {
    return undefined;
  }
}

function fromPath(path: string): CustomResourceDefinitionObject[] {
  if (!statSync(path).isDirectory()) return crdsIn(readFileSync(path, "utf8"));
  const files = readdirSync(path, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.ya?ml$/.test(name),
  );
  const crds = files.sort().flatMap((name) => crdsIn(readFileSync(join(path, name), "utf8")));
  // What `keelson generate` writes has each of them several times: in manifests, kustomize base, chart and bundle.
  return [...new Map(crds.map((crd) => [crd.metadata.name, crd])).values()];
}

function crdsIn(text: string): CustomResourceDefinitionObject[] {
  // Charts have templates, which are no YAML: what cannot be read has no CRD for us.
  const documents = parseAllDocuments(text, { logLevel: "error" });
  if ("empty" in documents) return [];
  return documents
    .filter(({ errors }) => errors.length === 0)
    .map((document) => document.toJS() as CustomResourceDefinitionObject | null)
    .filter((object) => object !== null)
    .filter(({ kind }) => kind === "CustomResourceDefinition");
}
