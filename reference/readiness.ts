// Waits for a program of the control plane to answer over HTTPS.
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { ControlPlaneError } from "./errors.ts";
import type { ProgramKeeper, ProgramName } from "./program-keeper.ts";

export interface Probe {
  /** Whose readiness it says; it need not be who answers. */
  readonly program: ProgramName;
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly ca: string;
  readonly deadline: number;
  readonly keeper: ProgramKeeper;
}

/** Polls until the answer is 200, a program ends, or `deadline` (ms since the epoch) passes. */
export async function untilAnswered({
  program,
  port,
  path,
  token,
  ca,
  deadline,
  keeper,
}: Probe): Promise<void> {
  const failed = keeper.failure.then((error) => {
    throw error;
  });
  let last = "no answer";
  while (Date.now() < deadline) {
    const answer = answerOf({ port, path, token, ca });
    last = await Promise.race([answer, failed]);
    if (last === "200") return;
    await Promise.race([sleep(50), failed]);
  }
  throw new ControlPlaneError(
    "NotReady",
    `${program} is not ready, ${path} on port ${port} says: ${last}; the end of its log:\n${keeper.endOfLog(program)}`,
  );
}

/** The status code, "200" being the only good one, or what went wrong. */
function answerOf({ port, path, token, ca }: Pick<Probe, "port" | "path" | "token" | "ca">): Promise<string> {
  return new Promise((done) => {
    const headers = { authorization: `Bearer ${token}` };
    const call = request(
      { host: "127.0.0.1", port, path, ca, headers, agent: false, timeout: 5_000 },
      (response) => {
        response.resume();
        response.on("close", () => done(String(response.statusCode)));
      },
    );
    call.on("error", (error) => done(error.message));
    call.on("timeout", () => call.destroy(new Error("no answer in 5 s")));
    call.end();
  });
}
