/** A thread that asks for a server's health all the time on one connection, and tells how long each answer took. */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { parentPort, workerData } from "node:worker_threads";

/** What the thread is started with. */
export interface ProbeData {
  readonly address: string;
  readonly token: string;
  readonly caFile: string;
}

const { address, token, caFile } = workerData as ProbeData;
const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: readFileSync(caFile) });
const headers = { authorization: `Bearer ${token}` };
const pauseMs = 2;
let waits: number[] = [];
let asks = false;

parentPort?.on("message", (message: "begin" | "end") => {
  asks = message === "begin";
  if (asks) {
    waits = [];
    ask();
  }
});

function ask(): void {
  const began = performance.now();
  const over = () => {
    waits.push(performance.now() - began);
    if (asks) setTimeout(ask, pauseMs);
    else parentPort?.postMessage(waits);
  };
  request(`https://${address}/healthz`, { agent, headers }, (response) => {
    response.resume().once("end", over);
  })
    .once("error", over)
    .end();
}
