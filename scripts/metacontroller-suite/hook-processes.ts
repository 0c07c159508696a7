/** The hooks of Deployments in the namespace metacontroller, as processes of this machine: each listens on loopback. */
import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import type { Client } from "@keelson/client";
import { labelSelectorFromLabels, matchesLabels, type ObjectOf } from "@keelson/core";
import { ConfigMap, Deployment, Secret, Service } from "@keelson/core/kinds";

const namespace = "metacontroller";

export interface HookProcessesOptions {
  /** For files. */
  readonly directory: string;
  /** The server that the image for hooks in JavaScript has. */
  readonly server: string;
  /** Where Python finds the module `_jsonnet`. */
  readonly jsonnet: string;
}

interface Hook {
  readonly version: string;
  readonly labels: Record<string, string>;
  readonly port: number;
  readonly process: ChildProcess;
}

/** The port and the paths that a program has in its pod, as it has them here. Programs stay as they are. */
const pythonShim = `
import builtins, io, os, socketserver, ssl
root, port = os.environ["HOOK_ROOT"], int(os.environ["HOOK_PORT"])
mounts = [m for m in os.environ["HOOK_MOUNTS"].split(":") if m]
def here(path):
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if isinstance(text, str) and any(text == m or text.startswith(m + "/") for m in mounts):
        return root + text
    return path
plain_open = io.open
def opened(path, *args, **kwargs):
    return plain_open(here(path), *args, **kwargs)
builtins.open = io.open = opened
bind = socketserver.TCPServer.server_bind
def server_bind(self):
    self.server_address = ("127.0.0.1", port)
    bind(self)
socketserver.TCPServer.server_bind = server_bind
chain, verify = ssl.SSLContext.load_cert_chain, ssl.SSLContext.load_verify_locations
ssl.SSLContext.load_cert_chain = lambda self, certfile, keyfile=None, password=None: chain(self, here(certfile), keyfile and here(keyfile), password)
ssl.SSLContext.load_verify_locations = lambda self, cafile=None, capath=None, cadata=None: verify(self, cafile and here(cafile), capath, cadata)
`;

const nodeShim = `
const { Server } = require("node:net");
const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  return typeof args[0] === "number" ? listen.call(this, Number(process.env.HOOK_PORT), "127.0.0.1") : listen.apply(this, args);
};
`;

/** What the image for hooks in Jsonnet does: /name calls name.jsonnet, a function of the request. */
const jsonnetServer = `
import os, sys, _jsonnet
from http.server import BaseHTTPRequestHandler, HTTPServer
class Hooks(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length"))).decode()
        path = os.path.join(sys.argv[1], self.path.strip("/") + ".jsonnet")
        try:
            code, text = 200, _jsonnet.evaluate_file(path, tla_codes={"request": body})
        except Exception as error:
            code, text = 500, str(error)
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())
    def log_message(self, *args):
        pass
HTTPServer(("", 8080), Hooks).serve_forever()
`;

export class HookProcesses implements AsyncDisposable {
  readonly #client: Client;
  readonly #options: HookProcessesOptions;
  readonly #hooks = new Map<string, Hook>();
  #services = new Map<string, Record<string, string>>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(client: Client, options: HookProcessesOptions) {
    this.#client = client;
    this.#options = options;
    mkdirSync(join(options.directory, "shim"), { recursive: true });
    writeFileSync(join(options.directory, "shim", "sitecustomize.py"), pythonShim);
    writeFileSync(join(options.directory, "shim", "shim.cjs"), nodeShim);
    writeFileSync(join(options.directory, "shim", "jsonnetd.py"), jsonnetServer);
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), 500);
  }

  /** The port of the process behind a host such as `catset-controller.metacontroller`. */
  portOf(host: string): number | undefined {
    const [name = "", space] = host.split(".");
    const selector = space === namespace ? this.#services.get(name) : undefined;
    if (!selector) return undefined;
    const wanted = labelSelectorFromLabels(selector);
    return [...this.#hooks.values()].find(({ labels }) => matchesLabels(wanted, labels))?.port;
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const services = await this.#client.kind(Service).list({ namespace });
      this.#services = new Map(
        services.items.map(({ metadata, spec }) => [metadata.name, spec?.selector ?? {}]),
      );
      const { items } = await this.#client.kind(Deployment).list({ namespace });
      const found = new Set(items.map(({ metadata }) => metadata.name));
      for (const [name, { process }] of this.#hooks) {
        if (found.has(name)) continue;
        process.kill("SIGKILL");
        this.#hooks.delete(name);
      }
      for (const deployment of items) await this.#run(deployment);
    } catch {
      // The cluster is going, or something is not there yet: looked at again.
    } finally {
      this.#looking = false;
    }
  }

  async #run(deployment: ObjectOf<typeof Deployment>): Promise<void> {
    const { name, uid, generation } = deployment.metadata;
    const version = `${uid}/${generation}`;
    const known = this.#hooks.get(name);
    if (known?.version === version) return;
    known?.process.kill("SIGKILL");
    const template = deployment.spec?.template;
    const [container] = template?.spec?.containers ?? [];
    if (!container) return;
    const root = join(this.#options.directory, name);
    const mounts: string[] = [];
    for (const { name: volume, mountPath } of container.volumeMounts ?? []) {
      const source = template?.spec?.volumes?.find((each) => each.name === volume);
      for (const [file, content] of await this.#files(source ?? {})) {
        const path = join(root, mountPath, file);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, content);
      }
      mounts.push(mountPath);
    }
    const port = await freePort();
    const process = this.#spawn(container, { root, mounts, port });
    this.#hooks.set(name, { version, labels: template?.metadata?.labels ?? {}, port, process });
  }

  async #files(volume: {
    configMap?: { name?: string };
    secret?: { secretName?: string };
  }): Promise<[string, Buffer][]> {
    if (volume.configMap?.name) {
      const { data = {} } = await this.#client
        .kind(ConfigMap)
        .get({ namespace, name: volume.configMap.name });
      return Object.entries(data).map(([file, text]) => [file, Buffer.from(text)]);
    }
    if (volume.secret?.secretName) {
      const { data = {} } = await this.#client
        .kind(Secret)
        .get({ namespace, name: volume.secret.secretName });
      return Object.entries(data).map(([file, text]) => [file, Buffer.from(text, "base64")]);
    }
    return [];
  }

  #spawn(
    { image = "", command }: { image?: string; command?: string[] },
    { root, mounts, port }: { root: string; mounts: readonly string[]; port: number },
  ): ChildProcess {
    const { directory, jsonnet, server } = this.#options;
    const shim = join(directory, "shim");
    const env = {
      ...process.env,
      HOOK_PORT: String(port),
      HOOK_ROOT: root,
      HOOK_MOUNTS: mounts.join(":"),
      PYTHONPATH: [shim, jsonnet].filter(Boolean).join(":"),
    };
    const inRoot = (text: string) =>
      mounts.some((mount) => text.startsWith(`${mount}/`)) ? join(root, text) : text;
    const [program, args, cwd] = image.includes("nodejs-server")
      ? [process.execPath, ["-r", join(shim, "shim.cjs"), beside(server, root)], join(root, "node")]
      : image.includes("jsonnetd")
        ? ["python3", [join(shim, "jsonnetd.py"), join(root, "hooks")], root]
        : ["python3", (command ?? []).slice(1).map(inRoot), root];
    return spawn(program as string, args as string[], { cwd: cwd as string, env, stdio: "ignore" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    for (const { process } of this.#hooks.values()) process.kill("SIGKILL");
  }
}

/** The server finds its hooks beside itself. */
function beside(server: string, root: string): string {
  const path = join(root, "node", "server.js");
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(server, path);
  return path;
}

async function freePort(): Promise<number> {
  return await new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
