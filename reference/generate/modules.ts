// Finds the Go modules of the release in the module cache: their protobuf files and struct tags are the source.
import { execFileSync } from "node:child_process";
import { kubernetesRelease } from "../releases.ts";

export const stagingModules = [
  "k8s.io/api",
  "k8s.io/apimachinery",
  "k8s.io/apiextensions-apiserver",
  "k8s.io/kube-aggregator",
] as const;
export type StagingModule = (typeof stagingModules)[number];

/** Directories of the modules that the release is built from, downloaded when the cache lacks them. */
export function moduleDirectories(): ReadonlyMap<StagingModule, string> {
  const release = kubernetesRelease();
  const version = `v0.${release.version.split(".").slice(1).join(".")}`;
  const wanted = stagingModules.map((module) => `${module}@${version}`);
  const text = execFileSync("go", ["mod", "download", "-json", ...wanted], {
    encoding: "utf8",
    cwd: release.moduleDirectory,
  });
  const directories = new Map<StagingModule, string>();
  for (const document of text.split(/^(?=\{)/m)) {
    const { Path, Dir } = JSON.parse(document) as { Path: StagingModule; Dir: string };
    directories.set(Path, Dir);
  }
  return directories;
}
