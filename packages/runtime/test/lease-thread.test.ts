/** The lease in its own thread, against a server of its own process: nothing here can run under virtual time. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Client } from "@keelson/client";
import { ConfigMap } from "@keelson/core/kinds";
import { locateKubernetes } from "@keelson/reference/locate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { leaseTimings } from "../src/leader/lease.ts";
import { LeaseThread } from "../src/leader/lease-thread.ts";
import { silentLogger } from "../src/log/logger.ts";
import { startServerProcess } from "./server-process.ts";
import { eventually, servers } from "./servers.ts";

const reference = locateKubernetes();
const timings = leaseTimings({
  leaseMs: 3_000,
  renewDeadlineMs: 1_800,
  renewEveryMs: 400,
  writeTimeoutMs: 1_000,
});

/** Keeps this thread's event loop from turning. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

const choices = [
  { name: "the embedded API server", missing: undefined, start: startServerProcess },
  {
    name: "kube-apiserver",
    missing: "missing" in reference ? reference.missing : undefined,
    start: (servers.find(({ name }) => name === "kube-apiserver") as (typeof servers)[number]).start,
  },
];

for (const { name, missing, start: startServer } of choices) {
  describe.skipIf(missing)(`a lease on ${name}${missing ? `: ${missing}` : ""}`, () => {
    let server: { readonly client: Client; readonly kubeconfig?: string } & AsyncDisposable;
    beforeAll(async () => {
      server = await startServer();
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
    });

    const thread = (name: string, identity: string, hangMs = 60_000) =>
      new LeaseThread(
        {
          connect: { kubeconfig: server.kubeconfig as string },
          name,
          namespace: "default",
          identity,
          timings,
          hangMs,
        },
        silentLogger,
      );

    test("in its own thread survives an event loop that is blocked for longer than the lease", async () => {
      const a = thread("blocked", "a");
      await a.acquired;
      const b = thread("blocked", "b");
      await eventually(() => expect(b.holder).toBe("a"));
      block(timings.leaseMs * 2);
      expect(a.fence.mayWrite()).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(b.leading).toBe(false);
      await a.stop();
      expect(a.fence.mayWrite()).toBe(false);
      await b.acquired;
      await b.stop();
    });

    test("in its own thread is given away for a thread that hangs, which cannot write when it comes back", async () => {
      const a = thread("hanging", "a", 1_000);
      await a.acquired;
      const b = thread("hanging", "b");
      await eventually(() => expect(b.holder).toBe("a"));
      block(timings.leaseMs * 2);
      expect(a.fence.mayWrite()).toBe(false);
      await b.acquired;
      expect((await a.lost).code).toBe("LeaseLost");
      await a.stop();
      await b.stop();
    });
    const script = fileURLToPath(new URL("./operator-process.ts", import.meta.url));
    const start = (identity: string) =>
      spawn(
        process.execPath,
        ["--conditions=keelson-source", script, "elected", server.kubeconfig as string, identity],
        {
          stdio: "ignore",
        },
      );
    let counter = 0;
    const signed = async () => {
      const ref = { namespace: "default", name: `sign-${++counter}` };
      await server.client.kind(ConfigMap).create({ metadata: { ...ref, labels: { sign: "please" } } });
      return await eventually(async () => {
        const { data } = await server.client.kind(ConfigMap).get(ref);
        expect(data?.["signed"]).toBeDefined();
        return data?.["signed"];
      }, 60_000);
    };

    test("of operators in processes of their own is handed over at once on SIGTERM, and within the lease after SIGKILL", {
      timeout: 180_000,
    }, async () => {
      await using processes = new AsyncDisposableStack();
      const operators = new Map(["a", "b", "c"].map((identity) => [identity, start(identity)]));
      processes.defer(() => {
        for (const child of operators.values()) child.kill("SIGKILL");
      });
      const first = (await signed()) as string;
      const leaving = operators.get(first);
      leaving?.kill("SIGTERM");
      expect(await once(leaving as ChildProcess, "exit")).toEqual([0, null]);
      const second = (await signed()) as string;
      expect(second).not.toBe(first);
      operators.get(second)?.kill("SIGKILL");
      const third = (await signed()) as string;
      expect([first, second]).not.toContain(third);
    });
  });
}
