import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { locateEtcd, locateKubernetes } from "./locate.ts";
import { allReleases, etcdRelease, kubernetesRelease, programPath, type Release } from "./releases.ts";

let directory: string;
let cache: NodeJS.ProcessEnv;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "locate-"));
  cache = { KEELSON_CACHE: join(directory, "cache") };
});
afterEach(() => rmSync(directory, { recursive: true }));

function program(path: string, script = "exit 0"): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

function build(release: Release, env = cache): void {
  for (const { name } of release.programs) program(programPath(release, name, env));
}

function assets(version: string, names = ["kube-apiserver", "kubectl", "etcd"]): NodeJS.ProcessEnv {
  const path = join(directory, "assets");
  mkdirSync(path);
  for (const name of names) program(join(path, name), `echo Kubernetes v${version}`);
  return { ...cache, KUBEBUILDER_ASSETS: path };
}

describe("in the cache", () => {
  test("an empty cache says what to run", () => {
    expect(locateKubernetes(cache)).toEqual({
      missing:
        "kube-apiserver, kubectl, kube-controller-manager, kube-scheduler 1.36 are not built: run `npm run reference`",
    });
    expect(locateKubernetes(cache, "1.37")).toEqual({
      missing: expect.stringMatching(/ 1\.37 are not built: run `npm run reference -- kubernetes-1\.37`$/),
    });
    expect(locateEtcd("3.5", cache)).toEqual({
      missing: "etcd, etcdctl, etcdutl 3.5 are not built: run `npm run reference -- etcd-3.5`",
    });
  });

  test("gives every program of a complete cache, with its exact version", () => {
    for (const release of allReleases()) build(release);
    const bin = join(directory, "cache", "reference", `kubernetes-${kubernetesRelease().version}`, "bin");
    const etcdBin = join(directory, "cache", "reference", `etcd-${etcdRelease("3.6").version}`, "bin");
    expect(locateKubernetes(cache)).toEqual({
      version: kubernetesRelease().version,
      apiserver: join(bin, "kube-apiserver"),
      kubectl: join(bin, "kubectl"),
      controllerManager: join(bin, "kube-controller-manager"),
      scheduler: join(bin, "kube-scheduler"),
      etcd: join(etcdBin, "etcd"),
    });
    expect(locateEtcd("3.6", cache)).toEqual({
      version: etcdRelease("3.6").version,
      etcd: join(etcdBin, "etcd"),
      etcdctl: join(etcdBin, "etcdctl"),
      etcdutl: join(etcdBin, "etcdutl"),
    });
  });

  test("Kubernetes without its etcd is not usable, and the sentence names etcd", () => {
    build(kubernetesRelease());
    expect(locateKubernetes(cache)).toEqual({
      missing: expect.stringMatching(/^etcd, .* 3\.6 are not built/),
    });
  });

  test("a program that cannot be run counts as missing", () => {
    const release = etcdRelease("3.7");
    build(release);
    chmodSync(programPath(release, "etcdctl", cache), 0o644);
    rmSync(programPath(release, "etcdutl", cache));
    mkdirSync(programPath(release, "etcdutl", cache));
    expect(locateEtcd("3.7", cache)).toEqual({
      missing: expect.stringMatching(/^etcdctl, etcdutl 3\.7 are not built/),
    });
  });

  test("lies where the XDG rules say, unless KEELSON_CACHE says otherwise", () => {
    const release = etcdRelease("3.6");
    const xdg = { HOME: join(directory, "home"), XDG_CACHE_HOME: join(directory, "xdg") };
    const relative = { HOME: join(directory, "home"), XDG_CACHE_HOME: "xdg" };
    expect(programPath(release, "etcd", xdg)).toContain(join(directory, "xdg", "keelson", "reference"));
    expect(programPath(release, "etcd", relative)).toContain(join(directory, "home", ".cache", "keelson"));
    expect(programPath(release, "etcd", { ...xdg, ...cache })).toContain(
      join(directory, "cache", "reference"),
    );
  });
});

describe("with KUBEBUILDER_ASSETS", () => {
  test("names the files it lacks, even when the cache has them", () => {
    for (const release of allReleases()) build(release);
    const env = assets("1.36.4", ["kubectl"]);
    expect(locateKubernetes(env)).toEqual({
      missing: `${env.KUBEBUILDER_ASSETS} has no kube-apiserver, etcd: correct KUBEBUILDER_ASSETS, or unset it to use what \`npm run reference\` builds`,
    });
  });

  test("says so when the directory does not exist", () => {
    const env = { ...cache, KUBEBUILDER_ASSETS: join(directory, "nowhere") };
    expect(locateKubernetes(env)).toEqual({
      missing: expect.stringContaining("nowhere has no kube-apiserver, kubectl, etcd"),
    });
  });

  test("says so when kube-apiserver does not tell a version", () => {
    const env = assets("1.36.4");
    program(join(String(env.KUBEBUILDER_ASSETS), "kube-apiserver"), "exit 1");
    expect(locateKubernetes(env)).toEqual({
      missing: expect.stringContaining("does not report its version"),
    });
  });

  test("comes before the cache and gives its own version", () => {
    for (const release of allReleases()) build(release);
    const env = assets("1.31.0");
    expect(locateKubernetes(env)).toMatchObject({
      version: "1.31.0",
      apiserver: join(String(env.KUBEBUILDER_ASSETS), "kube-apiserver"),
      etcd: join(String(env.KUBEBUILDER_ASSETS), "etcd"),
    });
  });

  test("takes controllers and scheduler from the cache only when they are of the same minor version", () => {
    for (const release of allReleases()) build(release);
    expect(locateKubernetes(assets("1.31.0"))).toMatchObject({
      controllerManager: undefined,
      scheduler: undefined,
    });
    rmSync(join(directory, "assets"), { recursive: true });
    expect(locateKubernetes(assets("1.36.0"))).toMatchObject({
      controllerManager: programPath(kubernetesRelease(), "kube-controller-manager", cache),
      scheduler: programPath(kubernetesRelease(), "kube-scheduler", cache),
    });
  });

  test("does not say which line of etcd it holds, so that lines come from the cache", () => {
    expect(locateEtcd("3.6", assets("1.36.4"))).toEqual({
      missing: expect.stringContaining("npm run reference"),
    });
  });
});
