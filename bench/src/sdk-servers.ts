/**
 * What the clients of the SDK's bench follow: a server that answers from prepared bytes, so that what is measured is the
 * client, or the embedded API server or the real kube-apiserver with the same custom resources in it.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createAuthority, createLeaf } from "@keelson/pki";
import { startControlPlane } from "@keelson/reference/control-plane";

export interface BenchServer extends AsyncDisposable {
  /** For the table's heading. */
  readonly title: string;
  readonly kubeconfig: string;
  /** Where changes are asked for: `…/events?count=100&rate=10`. */
  readonly control: string;
}

export async function startReplay(objects: number): Promise<BenchServer> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-bench-"));
  await certify(directory);
  const { ports, stop } = await startScript("sdk-replay.ts", [directory, String(objects)]);
  const [port = "", control = ""] = ports;
  const kubeconfig = join(directory, "kubeconfig");
  const ca = (await readFile(join(directory, "ca.crt"))).toString("base64");
  const cluster = { server: `https://127.0.0.1:${port}`, "certificate-authority-data": ca };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "bench",
    contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
    users: [{ name: "bench", user: { token: "bench" } }],
    clusters: [{ name: "bench", cluster }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  return {
    title: "a server that answers from prepared bytes",
    kubeconfig,
    control: `http://127.0.0.1:${control}`,
    [Symbol.asyncDispose]: async () => {
      stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export async function startReference(objects: number): Promise<BenchServer> {
  const plane = await startControlPlane();
  return await filled(objects, {
    title: `kube-apiserver ${plane.version} and etcd`,
    kubeconfig: plane.kubeconfig,
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  });
}

/** The embedded API server with the custom resources in it. */
export async function startStoring(objects: number): Promise<BenchServer> {
  return await filled(objects, await startEmbedded());
}

type Server = Pick<BenchServer, "title" | "kubeconfig"> & AsyncDisposable;

async function filled(objects: number, server: Server): Promise<BenchServer> {
  const began = performance.now();
  const { ports, stop } = await startScript("sdk-writer.ts", [server.kubeconfig, String(objects)]);
  process.stderr.write(`created in ${Math.round((performance.now() - began) / 1000)} s\n`);
  return {
    title: server.title,
    kubeconfig: server.kubeconfig,
    control: `http://127.0.0.1:${ports[0]}`,
    [Symbol.asyncDispose]: async () => {
      stop();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Our own API server as a process, in memory. */
export async function startEmbedded(): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-bench-"));
  const kubeconfig = join(directory, "kubeconfig");
  const program = join(import.meta.dirname, "../../packages/keelson/bin/keelson.js");
  const flags = ["--port", "0", "--kubeconfig", kubeconfig];
  const { stop } = await started([program, "apiserver", ...flags]);
  return {
    title: "the embedded API server",
    kubeconfig,
    [Symbol.asyncDispose]: async () => {
      stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Runs a script of this folder, which prints the ports it listens on when it is ready. */
async function startScript(name: string, args: readonly string[]) {
  const conditions = process.execArgv.filter((flag) => flag.startsWith("--conditions"));
  const { line, stop } = await started([...conditions, join(import.meta.dirname, name), ...args]);
  return { ports: line.split(" "), stop };
}

/** Runs Node and waits for a first line. */
async function started(args: readonly string[]) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface(child.stdout)) {
    return { line, stop: () => void child.kill() };
  }
  throw new Error(`${args.join(" ")} ended before it was ready`);
}

async function certify(directory: string): Promise<void> {
  const [notBeforeMs, notAfterMs] = [Date.now(), Date.now() + 2 * 24 * 3600_000];
  const authority = createAuthority("keelson-bench-ca", notBeforeMs, notAfterMs);
  const server = createLeaf(authority, {
    subject: { commonName: "keelson-bench" },
    names: ["127.0.0.1"],
    usages: ["server"],
    notBeforeMs,
    notAfterMs,
  });
  await writeFile(join(directory, "ca.crt"), authority.certificate);
  await writeFile(join(directory, "tls.crt"), server.certificate);
  await writeFile(join(directory, "tls.key"), server.key);
}
