/** Finds a resource that a project has, in the form in which the scaffold writes it. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";

/** A resource of a project and the file that defines it. */
export interface ExistingApi {
  readonly kind: string;
  /** `src/etcd-cluster`, relative to the project. */
  readonly folder: string;
  /** `etcd-cluster` */
  readonly name: string;
  /** `src/etcd-cluster/api.ts` */
  readonly path: string;
  readonly source: string;
}

/** The project's entry, as text. */
export function entryOf(project: Project): string {
  const path = join(project.directory, project.entry);
  if (existsSync(path)) return readFileSync(path, "utf8");
  throw new CliError("NoOperator", `${path} does not exist; make a project first: keelson init NAME`);
}

/** Throws in one sentence when there is no such kind, and names those that there are. */
export function existingApi(project: Project, kind: string): ExistingApi {
  const root = dirname(project.entry);
  const exported = [...entryOf(project).matchAll(/\b(\w+)[^{}]*\} from "\.\/([\w-]+)\/api\.ts"/g)];
  const found = exported.find(([, each]) => each === kind);
  const name = found?.[2] ?? "";
  const path = `${root}/${name}/api.ts`;
  if (!found || !existsSync(join(project.directory, path))) {
    const kinds = exported.map(([, each]) => each);
    const choice =
      kinds.length === 0 ? "none is exported in the scaffold's form" : `there is ${kinds.join(", ")}`;
    throw new CliError(
      "UnknownKind",
      `${project.entry} exports no kind ${kind}: ${choice}; make it first: keelson create api --kind ${kind}`,
    );
  }
  const source = readFileSync(join(project.directory, path), "utf8");
  return { kind, folder: `${root}/${name}`, name, path, source };
}
