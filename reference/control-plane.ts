// Runs the real etcd, kube-apiserver and, when asked, the real controllers and scheduler on loopback: the oracle
// of the tests and a peer in the benchmarks. `npm run control-plane -- --help` runs it in the foreground.
import { once } from "node:events";
import { mkdtempSync, realpathSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { runInForeground } from "./control-plane-command.ts";
import { ControlPlaneError } from "./errors.ts";
import { writeIdentities } from "./identities.ts";
import {
  type EtcdLine,
  type KubernetesLine,
  type KubernetesPrograms,
  locateEtcd,
  locateKubernetes,
} from "./locate.ts";
import {
  apiserverFlags,
  controllerManagerFlags,
  etcdFlags,
  type Layout,
  schedulerFlags,
} from "./program-flags.ts";
import { ProgramKeeper, type ProgramName } from "./program-keeper.ts";
import { untilReady } from "./readiness.ts";

export { ControlPlaneError, type ControlPlaneErrorCode } from "./errors.ts";
export type { ProgramName };

export interface ControlPlaneOptions {
  /** Port of the API server; default: a free one. */
  readonly port?: number;
  /** Bearer token of the user `admin` in the group system:masters; default: "admin-token". */
  readonly token?: string;
  /** Run kube-controller-manager; default: false. */
  readonly controllers?: boolean;
  /** Run kube-scheduler; default: false. */
  readonly scheduler?: boolean;
  /** Release line of Kubernetes; default: what `locateKubernetes` gives. */
  readonly kubernetes?: KubernetesLine;
  /** Release line of etcd; default: the one that `locateKubernetes` gives. */
  readonly etcd?: EtcdLine;
  /** Let etcd sync every write to the disk; default: false, since nothing outlives the control plane. */
  readonly durable?: boolean;
  /** Flags to add; where one repeats a flag of ours, it wins. */
  readonly flags?: Partial<Record<ProgramName, readonly string[]>>;
  /** Directory for the logs, kept afterwards; default: inside the control plane's own, gone with it. */
  readonly logs?: string;
  /** How long all of it may take to become ready; default: 60 s. */
  readonly timeoutMs?: number;
}

/**
 * A running control plane: RBAC on, no nodes, on loopback only. Every path below is gone after disposal.
 *
 * Disposal kills the programs and removes the directory. The same happens when this process ends in whatever way,
 * SIGKILL included, since the programs are children of a keeper process that notices. Killing both at the same moment
 * leaves the directory and, where there is no setpriv, the programs. It does not keep this process alive by itself.
 */
export interface ControlPlane extends AsyncDisposable {
  /** Version of kube-apiserver, without the "v". */
  readonly version: string;
  /** Such as "https://127.0.0.1:6443". */
  readonly server: string;
  readonly token: string;
  /** Path of a kubeconfig with all of it embedded: server, authority, token. */
  readonly kubeconfig: string;
  /** Path of the certificate (PEM) that `server` is to be verified with. */
  readonly caFile: string;
  /** Plain HTTP, no authentication: anybody on this machine may read it. */
  readonly etcdEndpoint: string;
  /** Directory with one log per program. */
  readonly logs: string;
  /** Process ids by program. */
  readonly pids: ReadonlyMap<ProgramName, number>;
  /** Path of the kubectl of this version. */
  readonly kubectl: string;
  /** Settles only when a program ends that should not have: with the reason. */
  readonly failure: Promise<ControlPlaneError>;
}

/** Starts a control plane and waits until it is ready: with controllers, until namespace `default` has its service account. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const programs = findPrograms(options);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(programs, options);
    } catch (error) {
      // Ports are chosen before they are used, and another process may be quicker; a port the caller chose is theirs.
      const unlucky =
        error instanceof ControlPlaneError && error.code === "PortInUse" && options.port === undefined;
      if (!unlucky || attempt === 3) throw error;
    }
  }
}

function findPrograms(options: ControlPlaneOptions): KubernetesPrograms {
  const found = locateKubernetes(process.env, options.kubernetes);
  if ("missing" in found) throw new ControlPlaneError("ProgramMissing", found.missing);
  for (const [name, isAbsent] of [
    ["kube-controller-manager", options.controllers && !found.controllerManager],
    ["kube-scheduler", options.scheduler && !found.scheduler],
  ]) {
    if (!isAbsent) continue;
    const problem = `there is no ${name} for kube-apiserver ${found.version}`;
    const remedy = "put one into KUBEBUILDER_ASSETS, or unset that to use what `npm run reference` builds";
    throw new ControlPlaneError("ProgramMissing", `${problem}: ${remedy}`);
  }
  if (options.etcd === undefined) return found;
  const etcd = locateEtcd(options.etcd);
  if ("missing" in etcd) throw new ControlPlaneError("ProgramMissing", etcd.missing);
  return { ...found, etcd: etcd.etcd };
}

async function startOnce(programs: KubernetesPrograms, options: ControlPlaneOptions): Promise<ControlPlane> {
  const { token = "admin-token", timeoutMs = 60_000, durable = false } = options;
  const directory = mkdtempSync(join(tmpdir(), "keelson-reference-"));
  const logs = options.logs === undefined ? join(directory, "logs") : resolve(options.logs);
  const keeper = new ProgramKeeper(directory, logs);
  try {
    const ports = await choosePorts(options.port);
    const layout: Layout = { ports, file: (name) => join(directory, name) };
    const server = `https://127.0.0.1:${ports.apiserver}`;
    const etcdEndpoint = `http://127.0.0.1:${ports.etcd}`;
    const ca = writeIdentities(layout, server, token);
    const deadline = Date.now() + timeoutMs;
    const launch = (name: ProgramName, command: string, flags: readonly string[]) =>
      keeper.start(name, command, [...flags, ...(options.flags?.[name] ?? [])]);
    const ready = (program: ProgramName, url: string) =>
      untilReady({ program, url, token, ca }, { keeper, deadline });

    // One after the other: an API server that finds no etcd waits a second before it tries again.
    launch("etcd", programs.etcd, etcdFlags(layout, { durable }));
    await ready("etcd", `${etcdEndpoint}/health`);
    launch("kube-apiserver", programs.apiserver, apiserverFlags(layout));
    await ready("kube-apiserver", `${server}/readyz`);

    const waits: Promise<void>[] = [];
    if (options.controllers && programs.controllerManager) {
      const name = "kube-controller-manager";
      launch(name, programs.controllerManager, controllerManagerFlags(layout));
      waits.push(ready(name, `https://127.0.0.1:${ports.controllerManager}/healthz`));
      waits.push(ready(name, `${server}/api/v1/namespaces/default/serviceaccounts/default`));
    }
    if (options.scheduler && programs.scheduler) {
      const name = "kube-scheduler";
      launch(name, programs.scheduler, schedulerFlags(layout));
      waits.push(ready(name, `https://127.0.0.1:${ports.scheduler}/readyz`));
    }
    await Promise.all(waits);

    return {
      version: programs.version,
      server,
      token,
      kubeconfig: layout.file("admin.kubeconfig"),
      caFile: layout.file("ca.crt"),
      etcdEndpoint,
      logs,
      pids: keeper.pids,
      kubectl: programs.kubectl,
      failure: keeper.failure,
      [Symbol.asyncDispose]: () => keeper.stop(),
    };
  } catch (error) {
    await keeper.stop();
    throw error;
  }
}

/** Free ports, all different: they are held together before any is given back. */
async function choosePorts(apiserverPort: number | undefined): Promise<Layout["ports"]> {
  const servers = Array.from({ length: 5 }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  const [apiserver = 0, etcd = 0, etcdPeer = 0, controllerManager = 0, scheduler = 0] = ports;
  return { apiserver: apiserverPort ?? apiserver, etcd, etcdPeer, controllerManager, scheduler };
}

const isCommand =
  process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
if (isCommand) await runInForeground(startControlPlane, process.argv.slice(2));
