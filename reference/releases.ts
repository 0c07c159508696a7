// The release lines this folder has a Go module for, the programs each gives, and where the cache keeps them.
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheDirectory } from "@keelson/machine";

/** The first is the one that the embedded cluster follows; the others are built when they are named. */
export const kubernetesLines = ["1.36", "1.34", "1.35", "1.37"] as const;
export type KubernetesLine = (typeof kubernetesLines)[number];

export const etcdLines = ["3.5", "3.6", "3.7"] as const;
export type EtcdLine = (typeof etcdLines)[number];

export interface Program {
  readonly name: string;
  /** Import path of its main package. */
  readonly package: string;
  /** Arguments that make it print its version and exit. */
  readonly versionArguments: readonly string[];
}

export interface Release {
  readonly project: "kubernetes" | "etcd" | "helm";
  readonly line: string;
  /** Exact version, as go.mod requires it: go.mod is the only place that names one. */
  readonly version: string;
  /** Version of Go that go.mod asks for. */
  readonly goVersion: string;
  /** Directory of the Go module. */
  readonly moduleDirectory: string;
  /** Module whose version is the release's. */
  readonly module: string;
  readonly programs: readonly Program[];
}

const kubernetesPrograms: readonly Program[] = [
  { name: "kube-apiserver", versionArguments: ["--version"] },
  { name: "kubectl", versionArguments: ["version", "--client"] },
  { name: "kube-controller-manager", versionArguments: ["--version"] },
  { name: "kube-scheduler", versionArguments: ["--version"] },
].map((program) => ({ ...program, package: `k8s.io/kubernetes/cmd/${program.name}` }));

const etcdPrograms: readonly Program[] = [
  // The module with etcd's own main package is not published for every version; ours calls the same entry point.
  { name: "etcd", package: "./etcd", versionArguments: ["--version"] },
  { name: "etcdctl", package: "go.etcd.io/etcd/etcdctl/v3", versionArguments: ["version"] },
  { name: "etcdutl", package: "go.etcd.io/etcd/etcdutl/v3", versionArguments: ["version"] },
];

export function kubernetesRelease(line: KubernetesLine = kubernetesLines[0]): Release {
  return release("kubernetes", line, "k8s.io/kubernetes", kubernetesPrograms);
}

/** The line that --kubernetes names. */
export function kubernetesLine(text: string): KubernetesLine {
  const line = kubernetesLines.find((known) => known === text);
  if (line === undefined)
    throw new TypeError(`--kubernetes is one of ${kubernetesLines.join(", ")}, not ${text}`);
  return line;
}

export function etcdRelease(line: EtcdLine): Release {
  return release("etcd", line, "go.etcd.io/etcd/server/v3", etcdPrograms);
}

export function helmRelease(): Release {
  const program = { name: "helm", package: "helm.sh/helm/v3/cmd/helm", versionArguments: ["version"] };
  return release("helm", "3", "helm.sh/helm/v3", [program]);
}

export function allReleases(): Release[] {
  return [...kubernetesLines.map(kubernetesRelease), ...etcdLines.map(etcdRelease), helmRelease()];
}

/** What the tests and benchmarks use: everything but the other lines of Kubernetes. */
export function defaultReleases(): Release[] {
  const kubernetes = kubernetesRelease();
  return allReleases().filter(({ project, line }) => project !== "kubernetes" || line === kubernetes.line);
}

function release(
  project: Release["project"],
  line: string,
  module: string,
  programs: readonly Program[],
): Release {
  const moduleDirectory = fileURLToPath(new URL(`${project}-${line}/`, import.meta.url));
  const goMod = readFileSync(join(moduleDirectory, "go.mod"), "utf8");
  const version = firstMatch(
    goMod,
    new RegExp(`^(?:require )?\\s*${module.replaceAll(".", "\\.")} v(\\S+)`, "m"),
  );
  const goVersion = firstMatch(goMod, /^go (\S+)/m);
  return { project, line, version, goVersion, moduleDirectory, module, programs };
}

function firstMatch(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`go.mod has no line that matches ${pattern}`);
  return found;
}

/** Directory that holds the programs of every release; never inside the repository. */
export function referenceDirectory(env: NodeJS.ProcessEnv): string {
  return join(cacheDirectory(env), "reference");
}

/** Directory of one release in the cache: it is put in place as a whole, so every program in it is complete. */
export function releaseDirectory(release: Release, env: NodeJS.ProcessEnv): string {
  return join(referenceDirectory(env), `${release.project}-${release.version}`);
}

export function programPath(release: Release, program: string, env: NodeJS.ProcessEnv): string {
  return join(releaseDirectory(release, env), "bin", program);
}

/** Names of the release's programs that the cache does not have. */
export function absentPrograms(release: Release, env: NodeJS.ProcessEnv): string[] {
  const names = release.programs.map((program) => program.name);
  return names.filter((name) => !isProgram(programPath(release, name, env)));
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
