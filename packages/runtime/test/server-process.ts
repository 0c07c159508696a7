/** The embedded API server in a process of its own: it goes on while a test blocks, and can be killed and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connect } from "@keelson/client";
import { eventually } from "./servers.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly client: Client;
  readonly kubeconfig: string;
  /** SIGKILL, and a moment later the same server again, with the same objects at the same address. */
  restart(): Promise<void>;
}

export async function startServerProcess(): Promise<ServerProcess> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "keelson-server-process-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, "kubeconfig");
  const main = fileURLToPath(new URL("./main.ts", import.meta.resolve("@keelson/apiserver")));
  const flags = [
    "--port",
    String(await freePort()),
    "--data-dir",
    join(folder, "data"),
    "--kubeconfig",
    kubeconfig,
  ];
  const launch = () =>
    spawn(process.execPath, ["--conditions=keelson-source", main, ...flags], {
      stdio: "ignore",
    });
  let child = launch();
  stack.defer(() => ended(child));
  await eventually(() => readFile(kubeconfig), 120_000);
  const client = await connect({ kubeconfig, retries: 0 });
  stack.defer(() => client.close());
  const answers = () => eventually(() => client.raw({ path: "/readyz", timeoutMs: 2_000 }), 120_000);
  await answers();
  const all = stack.move();
  return {
    client,
    kubeconfig,
    restart: async () => {
      await ended(child);
      child = launch();
      await answers();
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
