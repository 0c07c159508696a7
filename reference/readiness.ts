// Waits for a program of the control plane to say that it is ready.
import * as http from "node:http";
import * as https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { ControlPlaneError } from "./errors.ts";
import type { ProgramKeeper, ProgramName } from "./program-keeper.ts";

export interface Probe {
  /** Whose readiness it is; another program may be the one to answer. */
  readonly program: ProgramName;
  readonly url: string;
  readonly token: string;
  /** Certificate (PEM) of the authority to trust. */
  readonly ca: string;
}

export interface ProbeLimits {
  readonly keeper: ProgramKeeper;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

/** Polls until the answer is 200; fails when any program ends or the deadline passes. */
export async function untilReady(probe: Probe, { keeper, deadline }: ProbeLimits): Promise<void> {
  let answer = "nothing";
  while (Date.now() < deadline) {
    const next = await Promise.race([answerOf(probe), keeper.failure]);
    if (next instanceof ControlPlaneError) throw next;
    if (next === "200") return;
    answer = next;
    await sleep(25);
  }
  const log = keeper.endOfLog(probe.program);
  const message = `${probe.program} is not ready: ${probe.url} answers ${answer}; the end of its log:\n${log}`;
  throw new ControlPlaneError("NotReady", message);
}

/** The status code, or what went wrong. */
function answerOf({ url, token, ca }: Probe): Promise<string> {
  return new Promise((done) => {
    const { request } = url.startsWith("https:") ? https : http;
    const headers = { authorization: `Bearer ${token}` };
    const call = request(url, { ca, headers, agent: false, timeout: 5_000 }, (response) => {
      response.resume();
      response.on("close", () => done(String(response.statusCode)));
    });
    call.on("error", (error) => done(error.message));
    call.on("timeout", () => call.destroy(new Error("nothing for 5 s")));
    call.end();
  });
}
