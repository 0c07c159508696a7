// Finds the real control plane's programs on this machine; never builds, downloads or waits.
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import {
  absentPrograms,
  type EtcdLine,
  etcdRelease,
  helmRelease,
  isProgram,
  type KubernetesLine,
  kubernetesRelease,
  programPath,
  type Release,
} from "./releases.ts";

export type { EtcdLine, KubernetesLine };

/** Why programs cannot be used, as one sentence that also says what to do. */
export interface Missing {
  readonly missing: string;
}

/** Absolute paths of one Kubernetes release. */
export interface KubernetesPrograms {
  /** Exact version of kube-apiserver, without the "v". */
  readonly version: string;
  readonly apiserver: string;
  readonly kubectl: string;
  /** The etcd to put under the API server; from the cache this is the 3.6 line. */
  readonly etcd: string;
  /** Always there from the cache; with KUBEBUILDER_ASSETS only when one of the same minor version exists. */
  readonly controllerManager: string | undefined;
  /** As controllerManager. */
  readonly scheduler: string | undefined;
}

/** Absolute paths of one etcd release. */
export interface EtcdPrograms {
  /** Exact version, without the "v". */
  readonly version: string;
  readonly etcd: string;
  readonly etcdctl: string;
  readonly etcdutl: string;
}

/**
 * The programs of a line of Kubernetes from the cache that `npm run reference` fills (default: the one that the embedded
 * cluster follows), or, when KUBEBUILDER_ASSETS names a directory and no line is asked for, those in it, whatever their version.
 *
 * A KUBEBUILDER_ASSETS that lacks kube-apiserver, kubectl or etcd is reported and not passed over: somebody
 * chose that version, and testing against another one would answer a question nobody asked.
 */
export function locateKubernetes(
  env: NodeJS.ProcessEnv = process.env,
  line?: KubernetesLine,
): KubernetesPrograms | Missing {
  return env.KUBEBUILDER_ASSETS && line === undefined
    ? fromAssets(resolve(env.KUBEBUILDER_ASSETS), env)
    : fromCache(env, line);
}

/** The programs of one etcd release line. From the cache only: KUBEBUILDER_ASSETS does not say which line it holds. */
export function locateEtcd(line: EtcdLine, env: NodeJS.ProcessEnv = process.env): EtcdPrograms | Missing {
  const release = etcdRelease(line);
  const paths = inCache(release, env);
  if (isMissing(paths)) return paths;
  return {
    version: release.version,
    etcd: paths("etcd"),
    etcdctl: paths("etcdctl"),
    etcdutl: paths("etcdutl"),
  };
}

/** Helm, from the cache. */
export function locateHelm(
  env: NodeJS.ProcessEnv = process.env,
): { version: string; helm: string } | Missing {
  const release = helmRelease();
  const paths = inCache(release, env);
  return isMissing(paths) ? paths : { version: release.version, helm: paths("helm") };
}

function fromCache(env: NodeJS.ProcessEnv, line?: KubernetesLine): KubernetesPrograms | Missing {
  const release = kubernetesRelease(line);
  const paths = inCache(release, env);
  if (isMissing(paths)) return paths;
  const etcd = locateEtcd("3.6", env);
  if (isMissing(etcd)) return etcd;
  return {
    version: release.version,
    apiserver: paths("kube-apiserver"),
    kubectl: paths("kubectl"),
    etcd: etcd.etcd,
    controllerManager: paths("kube-controller-manager"),
    scheduler: paths("kube-scheduler"),
  };
}

function fromAssets(assets: string, env: NodeJS.ProcessEnv): KubernetesPrograms | Missing {
  const remedy = "correct KUBEBUILDER_ASSETS, or unset it to use what `npm run reference` builds";
  const absent = ["kube-apiserver", "kubectl", "etcd"].filter((name) => !isProgram(join(assets, name)));
  if (absent.length > 0) return { missing: `${assets} has no ${absent.join(", ")}: ${remedy}` };
  const apiserver = join(assets, "kube-apiserver");
  const version = reportedVersion(apiserver);
  if (version === undefined) return { missing: `${apiserver} does not report its version: ${remedy}` };
  // setup-envtest brings neither of these two, and they must not be newer than the API server they talk to.
  const cached = fromCache(env);
  const spare = !isMissing(cached) && minorOf(cached.version) === minorOf(version) ? cached : undefined;
  const inAssets = (name: string) => (isProgram(join(assets, name)) ? join(assets, name) : undefined);
  return {
    version,
    apiserver,
    kubectl: join(assets, "kubectl"),
    etcd: join(assets, "etcd"),
    controllerManager: inAssets("kube-controller-manager") ?? spare?.controllerManager,
    scheduler: inAssets("kube-scheduler") ?? spare?.scheduler,
  };
}

function inCache(release: Release, env: NodeJS.ProcessEnv): ((program: string) => string) | Missing {
  const absent = absentPrograms(release, env);
  if (absent.length === 0) return (program) => programPath(release, program, env);
  // Under the default line of Kubernetes etcd is needed as well.
  const all = release.project === "kubernetes" && release.line === kubernetesRelease().line;
  const command = all ? "" : ` -- ${release.project}-${release.line}`;
  return {
    missing: `${absent.join(", ")} ${release.line} ${absent.length > 1 ? "are" : "is"} not built: run \`npm run reference${command}\``,
  };
}

function isMissing(found: object): found is Missing {
  return "missing" in found;
}

function reportedVersion(apiserver: string): string | undefined {
  try {
    const text = execFileSync(apiserver, ["--version"], {
      encoding: "utf8",
      timeout: 10_000,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return /\bv(\d+\.\d+\.\S+)/.exec(text)?.[1];
  } catch {
    return undefined;
  }
}

function minorOf(version: string): string {
  return version.split(".", 2).join(".");
}
