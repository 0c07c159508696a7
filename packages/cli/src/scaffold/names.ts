/** Names that a person chooses for a project and its resources, checked before anything is written. */
import * as builtIn from "@keelson/core/kinds";
import { CliError } from "../errors.ts";

/** What a new resource is called, everywhere that it has a name. */
export interface ApiNames {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Folder and file name: `etcd-cluster`. */
  readonly folder: string;
  /** The constant that holds its controller: `etcdClusterController`. */
  readonly controller: string;
}

/** Names that the scaffold's files import: a kind of the same name would clash with them. */
const IMPORTED = ["Desired", "Instance", "ObjectOf"];

export function projectName(text: string): string {
  if (/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return text;
  throw invalid(text, "an operator", "lower-case letters, digits and dashes, a letter first, at most 63");
}

export function kindName(text: string): string {
  if (!/^[A-Z][A-Za-z0-9]{0,39}$/.test(text)) {
    throw invalid(text, "a kind", "letters and digits, a capital first, at most 40, such as EtcdCluster");
  }
  if (/.List$|^List$/.test(text)) {
    throw invalid(text, "a kind", "one that does not end in List: Kubernetes calls a list of objects so");
  }
  if (text in builtIn)
    throw invalid(text, "a kind", "a name that Kubernetes has not given to a kind of its own");
  if (text in globalThis || IMPORTED.includes(text)) {
    throw invalid(text, "a kind", "a name that TypeScript has not given to something else");
  }
  return text;
}

export function groupName(text: string): string {
  const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
  if (!new RegExp(`^${label}(\\.${label})+$`).test(text) || text.length > 253) {
    throw invalid(text, "a group", "a domain that is yours, such as cache.example.com");
  }
  if (/(^|\.)(k8s|kubernetes)\.io$/.test(text)) {
    throw invalid(text, "a group", "a domain that is yours: this one is reserved for Kubernetes");
  }
  return text;
}

export function versionName(text: string): string {
  if (/^v[1-9]\d{0,3}((alpha|beta)[1-9]\d{0,3})?$/.test(text)) return text;
  throw invalid(text, "a version", "v1, v1alpha1, v1beta1 and so on");
}

export function apiNames(given: { group: string; version: string; kind: string }): ApiNames {
  const kind = kindName(given.kind);
  const folder = kind
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1-$2")
    .toLowerCase();
  const controller = `${folder.replace(/-([a-z0-9])/g, (_, first: string) => first.toUpperCase())}Controller`;
  return { kind, group: groupName(given.group), version: versionName(given.version), folder, controller };
}

/** `cache-operator` is probably about a Cache. */
export function guessedKind(project: string): string {
  const words = project.replace(/-?operator$/, "").split("-");
  const kind = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  try {
    return kindName(kind);
  } catch {
    return "Workload";
  }
}

/** `cache-operator` gets `cache.example.com`. */
export function guessedGroup(project: string): string {
  return `${project.replace(/-?operator$/, "") || "apps"}.example.com`;
}

function invalid(text: string, what: string, use: string): CliError {
  return new CliError("InvalidName", `"${text}" is no name for ${what}; use ${use}`);
}
