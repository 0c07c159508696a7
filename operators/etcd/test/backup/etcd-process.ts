/** A real etcd of one member, and the tools of its version. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { locateProgram } from "@keelson/images";
import { locateEtcd } from "../../../../reference/locate.ts";
import { EtcdGateway } from "../../src/engine/gateway.ts";

export interface EtcdTools {
  readonly version: string;
  readonly etcd: string;
  /** Where `etcdutl` lies, or `etcdctl` for 3.4. */
  readonly programs: string;
}

/** The programs of a release line, or why there are none. */
export async function etcdTools(
  line: "3.4" | "3.5" | "3.6" | "3.7",
): Promise<EtcdTools | { missing: string }> {
  if (line !== "3.4") {
    const found = locateEtcd(line);
    return "missing" in found
      ? found
      : { version: found.version, etcd: found.etcd, programs: join(found.etcdutl, "..") };
  }
  try {
    const etcd = (await locateProgram("etcd")).path;
    const etcdctl = (await locateProgram("etcdctl")).path;
    const { stdout } = await promisify(execFile)(etcd, ["--version"]);
    const version = /etcd Version: (\S+)/.exec(stdout)?.[1] ?? "";
    return version.startsWith("3.4.")
      ? { version, etcd, programs: join(etcdctl, "..") }
      : { missing: `the distribution's etcd is ${version}` };
  } catch (error) {
    return { missing: (error as Error).message };
  }
}

export interface EtcdProcess extends AsyncDisposable {
  readonly etcd: EtcdGateway;
  readonly port: number;
  readonly metricsPort: number;
  readonly peerUrl: string;
  readonly dataDirectory: string;
}

export interface StartOptions {
  readonly name: string;
  readonly token: string;
  readonly dataDirectory: string;
  readonly peerPort?: number;
  /** Of all members, as etcd's flag. Default: it alone. */
  readonly initialCluster?: string;
  /** Default: one that serves. */
  readonly until?: (member: { readonly etcd: EtcdGateway; readonly metricsPort: number }) => Promise<unknown>;
}

export async function startEtcd(tools: EtcdTools, options: StartOptions): Promise<EtcdProcess> {
  const { name, token, dataDirectory } = options;
  const port = await freePort();
  const metricsPort = await freePort();
  const peerUrl = `http://127.0.0.1:${options.peerPort ?? (await freePort())}`;
  const clientUrl = `http://127.0.0.1:${port}`;
  const child = spawn(
    tools.etcd,
    [
      `--name=${name}`,
      `--data-dir=${dataDirectory}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--listen-client-urls=${clientUrl}`,
      `--advertise-client-urls=${clientUrl}`,
      `--listen-metrics-urls=http://127.0.0.1:${metricsPort}`,
      `--initial-cluster=${options.initialCluster ?? `${name}=${peerUrl}`}`,
      `--initial-cluster-token=${token}`,
      "--log-level=error",
    ],
    { stdio: "ignore" },
  );
  const ended = once(child, "exit");
  const etcd = new EtcdGateway({ host: "127.0.0.1", port });
  const { until = async () => await etcd.get("up") } = options;
  for (let left = 300; ; left--) {
    if (
      await until({ etcd, metricsPort }).then(
        () => true,
        () => false,
      )
    )
      break;
    if (left === 0 || child.exitCode !== null) throw new Error(`etcd ${tools.version} does not serve`);
    await sleep(100);
  }
  return {
    etcd,
    port,
    metricsPort,
    peerUrl,
    dataDirectory,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

export async function scratchDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "keelson-etcd-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}
