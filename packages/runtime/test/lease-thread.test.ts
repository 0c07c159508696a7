/** The lease in its own thread, against a server of its own process: nothing here can run under virtual time. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { ConfigMap } from "@keelson/core/kinds";
import { locateKubernetes } from "@keelson/reference/locate";
import { describe, expect, test } from "vitest";
import { leaseTimings } from "../src/leader/lease.ts";
import { LeaseThread, threadClock } from "../src/leader/lease-thread.ts";
import { silentLogger } from "../src/log/logger.ts";
import { startServerProcess } from "./server-process.ts";
import { eventually, servers } from "./servers.ts";

const timings = leaseTimings({
  leaseMs: 3_000,
  renewDeadlineMs: 2_400,
  renewEveryMs: 300,
  writeTimeoutMs: 500,
});

/** Keeps this thread's event loop from turning, without keeping a processor from those that the test waits for. */
function blockUntil(condition: () => boolean): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const giveUpAt = threadClock.monotonic() + 60_000;
  while (!condition()) {
    if (threadClock.monotonic() > giveUpAt) throw new Error("blocked for a minute, and nothing came of it");
    Atomics.wait(cell, 0, 0, 10);
  }
}

describe("a lease in its own thread, on the embedded API server", () => {
  test("survives an event loop that is blocked for longer than the lease, and is given away for one that hangs", async () => {
    await using server = await startServerProcess();
    await using threads = new AsyncDisposableStack();
    const thread = (name: string, identity: string, hangMs = 60_000) => {
      const data = { connect: { kubeconfig: server.kubeconfig }, name, namespace: "default", identity };
      const made = new LeaseThread({ ...data, timings, hangMs }, silentLogger);
      threads.defer(() => made.stop());
      return made;
    };
    const kept = thread("kept", "a");
    const given = thread("given", "a", 1_000);
    await Promise.all([kept.acquired, given.acquired]);
    const waiting = thread("kept", "b");
    const heir = thread("given", "b");
    await eventually(() => expect([waiting.holder, heir.holder]).toEqual(["a", "a"]), 30_000);

    // Fences are memory that the threads share, so they can be looked at while nothing else can be heard.
    const longEnough = threadClock.monotonic() + timings.leaseMs + 500;
    blockUntil(() => heir.fence.mayWrite() && threadClock.monotonic() > longEnough);
    expect(given.fence.mayWrite()).toBe(false);
    expect(kept.fence.mayWrite()).toBe(true);
    expect(waiting.fence.mayWrite()).toBe(false);

    await heir.acquired;
    expect((await given.lost).code).toBe("LeaseLost");
    expect([kept.leading, waiting.leading]).toEqual([true, false]);
    await kept.stop();
    expect(kept.fence.mayWrite()).toBe(false);
    await waiting.acquired;
  }, 120_000);
});

const reference = locateKubernetes();
const choices = [
  { name: "the embedded API server", missing: undefined, start: startServerProcess },
  {
    name: "kube-apiserver",
    missing: "missing" in reference ? reference.missing : undefined,
    start: (servers.find(({ name }) => name === "kube-apiserver") as (typeof servers)[number]).start,
  },
];
const script = fileURLToPath(new URL("./operator-process.ts", import.meta.url));

/** Resolves when its caches are complete: what it takes to load an operator must not fall into someone's lease. */
async function startOperator(kubeconfig: string, identity: string): Promise<ChildProcess> {
  const args = ["--conditions=keelson-source", script, "elected", kubeconfig, identity];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise<void>((resolve, reject) => {
    const lines = createInterface(child.stdout);
    lines.on("line", (line) => line.includes("caches are complete") && resolve());
    lines.on("close", () => reject(new Error(`operator ${identity} ended before its caches were complete`)));
  });
  return child;
}

for (const { name, missing, start } of choices) {
  const title = `a lease of operators in processes of their own, on ${name}${missing ? `: ${missing}` : ""}`;
  test.skipIf(missing)(
    `${title}, is handed over at once on SIGTERM, and within the lease after SIGKILL`,
    {
      timeout: 180_000,
    },
    async () => {
      await using server = await start();
      let counter = 0;
      const signed = async () => {
        const ref = { namespace: "default", name: `sign-${++counter}` };
        await server.client.kind(ConfigMap).create({ metadata: { ...ref, labels: { sign: "please" } } });
        return await eventually(async () => {
          const { data } = await server.client.kind(ConfigMap).get(ref);
          expect(data?.["signed"]).toBeDefined();
          return data?.["signed"] as string;
        }, 60_000);
      };
      await using processes = new AsyncDisposableStack();
      const operators = new Map<string, ChildProcess>();
      processes.defer(() => {
        for (const child of operators.values()) child.kill("SIGKILL");
      });
      // One after the other, so that one who leads does not wait for a processor.
      for (const identity of ["a", "b", "c"]) {
        operators.set(identity, await startOperator(server.kubeconfig as string, identity));
      }
      const first = await signed();
      const leaving = operators.get(first) as ChildProcess;
      leaving.kill("SIGTERM");
      expect(await once(leaving, "exit")).toEqual([0, null]);
      const second = await signed();
      expect(second).not.toBe(first);
      operators.get(second)?.kill("SIGKILL");
      expect([first, second]).not.toContain(await signed());
    },
  );
}
