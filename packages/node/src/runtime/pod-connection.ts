/** Connections into a pod, for port-forward. */
import { spawn } from "node:child_process";
import { connect } from "node:net";
import type { DuplexPipe } from "./container-runtime.ts";

export function connectTo(host: string, port: number): Promise<DuplexPipe> {
  const { promise, resolve, reject } = Promise.withResolvers<DuplexPipe>();
  const socket = connect({ host, port, allowHalfOpen: true });
  socket.once("error", reject);
  socket.once("connect", () => {
    socket.off("error", reject);
    socket.on("error", () => undefined);
    resolve({ readable: socket, writable: socket, close: () => socket.destroy() });
  });
  return promise;
}

/** Says `+` once it is connected, and then only carries bytes. */
const relay = `
const socket = require("node:net").connect({ host: "127.0.0.1", port: Number(process.argv[1]), allowHalfOpen: true });
socket.on("error", (error) => { process.stderr.write(error.message); process.exit(1); });
socket.on("connect", () => { process.stdout.write("+"); process.stdin.pipe(socket); socket.pipe(process.stdout); });
`;

/** A process of its own in the pod's network: only from there its loopback can be reached. */
export function connectInside(nsenter: string, network: string, port: number): Promise<DuplexPipe> {
  const { promise, resolve, reject } = Promise.withResolvers<DuplexPipe>();
  const child = spawn(nsenter, [`--net=${network}`, process.execPath, "-e", relay, String(port)], {
    stdio: ["pipe", "pipe", "pipe"],
    env: {},
  });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint += text;
  });
  child.stdin.on("error", () => undefined);
  child.once("error", reject);
  child.once("exit", () => reject(new Error(complaint || `connection to port ${port} failed`)));
  child.stdout.once("data", (chunk: Buffer) => {
    child.stdout.pause();
    if (chunk.length > 1) child.stdout.unshift(chunk.subarray(1));
    resolve({ readable: child.stdout, writable: child.stdin, close: () => void child.kill("SIGKILL") });
  });
  return promise;
}
