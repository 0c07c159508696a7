/** Faults of a cluster that runs in the background, for people. */

import { isStopped } from "@keelson/machine";
import type { Fault } from "@keelson/node/faults";
import { ClusterError } from "../errors.ts";
import { clusterNames, readRecord } from "./state.ts";

/** A fault of a cluster in the background: of its nodes and pods, or of its API server. */
export type ClusterFault =
  | Fault
  /** The API server and the controllers are stopped: connections are accepted and nothing is answered. */
  | { readonly kind: "freezeApi"; readonly frozen: boolean };

/** Makes something go wrong in a running cluster. Throws in words: no such pod, or not possible on this machine. */
export async function injectFault(fault: ClusterFault, name = "default"): Promise<void> {
  const record = await readRecord(name);
  if (record === undefined) {
    const others = await clusterNames();
    const choose = `choose one with --name: ${others.join(", ")}`;
    const next = others.length === 0 ? "start one: keelson cluster up" : choose;
    throw new ClusterError("NotRunning", `no cluster ${name} is up; ${next}`);
  }
  if (fault.kind === "freezeApi") {
    process.kill(record.pid, fault.frozen ? "SIGSTOP" : "SIGCONT");
    if (fault.frozen) await standstill(record.pid);
    return;
  }
  if (isStopped(record.pid)) {
    throw new ClusterError(
      "NotRunning",
      `cluster ${name} is stopped; let it go on first: keelson cluster fault api-up --name ${name}`,
    );
  }
  const { askToInject } = await import("./control.ts");
  await askToInject(record.control, fault);
}

/** The signal is only on its way when it was sent; where nobody can tell, it is taken to have arrived soon. */
async function standstill(pid: number): Promise<void> {
  for (let tries = 0; tries < 100 && !isStopped(pid); tries++) {
    await new Promise((resume) => setTimeout(resume, 5));
  }
}
