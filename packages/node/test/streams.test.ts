/** Logs, exec, attach and port-forward through the embedded API server to real containers. */
import { connect, type PodClient, pods as podClient } from "@keelson/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { titled, whyNoSandbox } from "./node-machine.ts";
import { isReady, namespace, type RealPods, realPods } from "./real-pods.ts";

const reason = await whyNoSandbox();
const ref = { namespace, name: "box" };

describe.skipIf(reason !== undefined)(titled("streams to containers", reason), { timeout: 60_000 }, () => {
  let pods: RealPods;
  let streams: PodClient;
  beforeAll(async () => {
    pods = await realPods(["one"]);
    streams = podClient(await connect({ kubeconfig: pods.kubeconfig }));
    const local = "require('http').createServer((q, r) => r.end('inside')).listen(8081, '127.0.0.1')";
    await pods.create("box", {
      containers: [
        {
          name: "count",
          image: "busybox",
          command: ["sh", "-c", "i=0; while :; do echo line $i; i=$((i+1)); sleep 0.05; done"],
        },
        { name: "web", image: "nginx:1.22", readinessProbe: { httpGet: { port: 80 } } },
        {
          ...{
            name: "local",
            image: "node:24",
            command: ["node", "-e", `${local}; process.on('SIGTERM', () => process.exit())`],
          },
          readinessProbe: {
            exec: { command: ["node", "-e", "fetch('http://127.0.0.1:8081')"] },
            timeoutSeconds: 10,
          },
        },
        { name: "echo", image: "busybox", stdin: true, command: ["cat"] },
      ],
    });
    await pods.until("box", isReady);
  }, 300_000);
  afterAll(async () => await pods?.[Symbol.asyncDispose]());

  test("a log is followed line by line", async () => {
    const seen: string[] = [];
    for await (const line of streams.logs(ref, { container: "count", follow: true, tailLines: 1 })) {
      seen.push(line);
      if (seen.length === 3) break;
    }
    const numbers = seen.map((line) => Number(line.replace("line ", "")));
    expect(numbers).toEqual([numbers[0], (numbers[0] ?? 0) + 1, (numbers[0] ?? 0) + 2]);
  });

  test("a command has input, both outputs and an exit code", async () => {
    const command = ["sh", "-c", "cat; echo complaint >&2; exit 7"];
    expect(await streams.run(ref, { container: "count", command, input: "fed" })).toEqual({
      code: 7,
      stdout: "fed",
      stderr: "complaint\n",
    });
  });

  test("a megabyte comes through whole, also twenty times at once beside a busy process", async () => {
    const busy = await streams.exec(ref, { container: "echo", command: ["sh", "-c", "while :; do :; done"] });
    const command = ["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x"];
    const all = Array.from(
      { length: 20 },
      async () => (await streams.run(ref, { container: "count", command })).stdout.length,
    );
    expect(new Set(await Promise.all(all))).toEqual(new Set([1_000_000]));
    busy.close();
  });

  test("a command on a terminal sees its size", async () => {
    // The size may come before or after the command has begun: it looks until it is there.
    const command = ["sh", "-c", "until [ \"$(stty size)\" = '45 123' ]; do sleep 0.05; done; echo seen"];
    const process = await streams.exec(ref, { container: "web", command, tty: true, stdin: true });
    let text = "";
    process.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    await process.resize({ columns: 123, rows: 45 });
    await process.exit;
    expect(text).toContain("seen");
  });

  test("attach speaks with the first process itself", async () => {
    const process = await streams.attach(ref, { container: "echo", stdin: true });
    const heard = new Promise<string>((resolve) =>
      process.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString())),
    );
    process.stdin?.write("hello\n");
    expect(await heard).toBe("hello\n");
    process.close();
  });

  test.each([
    [80, "Welcome to nginx!"],
    [8081, "inside"],
  ])("port %i is reached, also when it listens on the pod's loopback only", async (port, text) => {
    await using forwarded = await streams.forward(ref, { port });
    const answer = await fetch(`http://127.0.0.1:${forwarded.localPort}/`, {
      headers: { connection: "close" },
    });
    expect(await answer.text()).toContain(text);
  });
});
