/** The folder for KUBEBUILDER_ASSETS: programs by the names that Go's envtest looks for. */
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

export const standIns = ["kube-apiserver", "etcd"] as const;
export type StandIn = (typeof standIns)[number];

export function isStandIn(name: string | undefined): name is StandIn {
  return (standIns as readonly (string | undefined)[]).includes(name);
}

export interface AssetsOptions {
  readonly directory: string;
  /** What runs `keelson`: a program and its first arguments. */
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Writes the programs; kubectl is the one of the PATH, where there is one. */
export function writeAssets({ directory, command, env }: AssetsOptions): void {
  mkdirSync(directory, { recursive: true });
  for (const name of standIns) {
    const path = join(directory, name);
    const words = [...command, "envtest", name].map(quote).join(" ");
    writeFileSync(path, `#!/bin/sh\nexec ${words} "$@"\n`);
    chmodSync(path, 0o755);
  }
  const link = join(directory, "kubectl");
  rmSync(link, { force: true });
  const kubectl = (env.PATH ?? "")
    .split(delimiter)
    .map((place) => join(place, "kubectl"))
    .find((path) => existsSync(path));
  if (kubectl !== undefined) symlinkSync(kubectl, link);
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
