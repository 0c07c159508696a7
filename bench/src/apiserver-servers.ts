/** The servers that are compared: ours as it is installed from npm, and the real one with etcd. */
import { execFileSync, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startControlPlane } from "@keelson/reference/control-plane";

export interface Server extends AsyncDisposable {
  /** `127.0.0.1:6443` */
  readonly address: string;
  readonly token: string;
  readonly caFile: string;
  /** From the start of the process to its first answer. */
  readonly startMs: number;
  residentMb(): number;
  /** Processor time used so far. */
  cpuMs(): number;
}

const repository = join(import.meta.dirname, "../..");

/**
 * Builds the packages and lays them out as npm would install them, without sources beside them; dependencies are
 * linked. INSTALLED names a directory where keelson is installed already.
 */
export function install(): { readonly directory: string } & Disposable {
  const given = process.env["INSTALLED"];
  if (given) return { directory: given, [Symbol.dispose]: () => undefined };
  execFileSync(process.execPath, [join(repository, "node_modules/.bin/tsc"), "-b"], { stdio: "inherit" });
  const directory = mkdtempSync(join(tmpdir(), "keelson-installed-"));
  const modules = join(directory, "node_modules");
  mkdirSync(join(modules, "@keelson"), { recursive: true });
  for (const name of readdirSync(join(repository, "node_modules")))
    if (!name.startsWith(".") && name !== "keelson" && name !== "@keelson")
      symlinkSync(join(repository, "node_modules", name), join(modules, name));
  for (const name of readdirSync(join(repository, "packages"))) {
    const target = join(modules, name === "keelson" ? name : `@keelson/${name}`);
    for (const part of ["package.json", "dist", "bin"].filter((each) =>
      existsSync(join(repository, "packages", name, each)),
    ))
      cpSync(join(repository, "packages", name, part), join(target, part), { recursive: true });
  }
  return { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

export async function startEmbedded(installed: string, durable: boolean): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "keelson-bench-"));
  const kubeconfig = join(directory, "kubeconfig");
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [
      join(installed, "node_modules/keelson/bin/keelson.js"),
      "apiserver",
      ...["--port", "0", "--kubeconfig", kubeconfig],
      ...(durable ? ["--data-dir", join(directory, "data")] : []),
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let address = "";
  for await (const line of createInterface(child.stdout)) {
    if (!line.startsWith("https://")) continue;
    address = line.slice("https://".length);
    break;
  }
  const caFile = join(directory, "ca.crt");
  const { authority, token } = readKubeconfig(kubeconfig);
  writeFileSync(caFile, authority);
  await firstAnswer(address, authority, token);
  const startMs = performance.now() - began;
  return {
    address,
    token,
    caFile,
    startMs,
    ...usageOf([child.pid ?? 0]),
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      // It is let end by itself, because Node keeps the compiled code of a process when that ends.
      child.kill("SIGTERM");
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export async function startReference(): Promise<Server> {
  const began = performance.now();
  const plane = await startControlPlane({ durable: true });
  const address = plane.server.slice("https://".length);
  await firstAnswer(address, readFileSync(plane.caFile), plane.token);
  return {
    address,
    token: plane.token,
    caFile: plane.caFile,
    startMs: performance.now() - began,
    ...usageOf([...plane.pids.values()]),
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
}

/** How long `apiServer()` takes for the first time in a process that has loaded it. */
export function startInProcess(installed: string): number {
  const program = `
    const { apiServer } = await import("@keelson/apiserver");
    const began = performance.now();
    await using api = await apiServer();
    console.log(performance.now() - began);
  `;
  const file = join(installed, "in-process.mjs");
  writeFileSync(file, program);
  return Number(execFileSync(process.execPath, [file], { encoding: "utf8" }));
}

function readKubeconfig(path: string): { authority: Buffer; token: string } {
  const { clusters, users } = JSON.parse(readFileSync(path, "utf8")) as {
    clusters: [{ cluster: { "certificate-authority-data": string } }];
    users: [{ user: { token: string } }];
  };
  const authority = Buffer.from(clusters[0].cluster["certificate-authority-data"], "base64");
  return { authority, token: users[0].user.token };
}

function firstAnswer(address: string, ca: Buffer, token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    request(`https://${address}/version`, { ca, headers, agent: false }, (response) => {
      response.resume().once("end", resolve);
    })
      .once("error", reject)
      .end();
  });
}

/** Sends one request with a JSON body and gives the status. */
export function post(server: Server, path: string, body: unknown): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
    const options = { method: "POST", ca: readFileSync(server.caFile), headers, agent: false };
    request(`https://${server.address}${path}`, options, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0));
    })
      .once("error", reject)
      .end(JSON.stringify(body));
  });
}

function usageOf(pids: readonly number[]): Pick<Server, "residentMb" | "cpuMs"> {
  const sum = (read: (pid: number) => number) => pids.reduce((total, pid) => total + read(pid), 0);
  return {
    residentMb: () =>
      sum((pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])) / 1024,
    cpuMs: () =>
      sum((pid) => {
        const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
        return (Number(fields[11]) + Number(fields[12])) * 10;
      }),
  };
}
