/** Nothing of a node may outlive it: not a process, not a mount, not a file, however it ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Cluster, startCluster } from "@keelson/cluster";
import { Pod } from "@keelson/core/kinds";
import { census } from "@keelson/machine/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { titled, whyNoSandbox } from "./node-machine.ts";

const reason = await whyNoSandbox();
const program = fileURLToPath(new URL("./node-process.ts", import.meta.url));
const namespace = "default";

const suite = titled("what a node leaves behind", reason);
describe.skipIf(reason !== undefined)(suite, { timeout: 120_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "kl-"));
  const data = join(home, "data");
  let cluster: Cluster;
  let groups: readonly string[];
  beforeAll(async () => {
    groups = census(data).groups;
    cluster = await startCluster({ nodes: 0 });
  }, 60_000);
  afterAll(async () => {
    await cluster?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  const startNode = async (): Promise<ChildProcess> => {
    const child = spawn(process.execPath, ["--conditions=keelson-source", program, data], {
      env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(child.stdout ?? child, "data");
    return child;
  };
  const restarts = async (count: number) => {
    for await (const event of cluster.client
      .kind(Pod)
      .reflect({ namespace, fields: "metadata.name=lasting" })) {
      if (!("object" in event)) continue;
      const status = event.object.status?.containerStatuses?.[0];
      if (status?.ready && status.restartCount === count) return;
    }
  };
  /** The kernel needs a moment to take down what was killed. */
  const allGone = async () => {
    while (census(data).processes.length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  };

  test("a killed node takes every process and mount with it, and the next one goes on where it was", async () => {
    const first = await startNode();
    await cluster.client.kind(Pod).create({
      metadata: { name: "lasting", namespace },
      spec: {
        containers: [
          {
            ...{
              name: "c",
              image: "busybox",
              command: [
                "sh",
                "-c",
                "before=$(cat /d/f); echo $before again > /d/f; touch /written; sleep 100000",
              ],
            },
            readinessProbe: { exec: { command: ["test", "-e", "/written"] }, periodSeconds: 1 },
            resources: { limits: { memory: "64Mi" } },
            volumeMounts: [{ name: "d", mountPath: "/d" }],
          },
        ],
        volumes: [{ name: "d", emptyDir: {} }],
      },
    });
    await restarts(0);
    expect(census(data).processes.length).toBeGreaterThan(2);
    first.kill("SIGKILL");
    await allGone();
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(data);

    const second = await startNode();
    await restarts(1);
    const volumes = join(data, "nodes/mortal/pods");
    const [uid = ""] = readdirSync(volumes);
    expect(readFileSync(join(volumes, uid, "volumes/empty-dir/d/f"), "utf8")).toBe("again again\n");

    second.stdin?.end();
    await once(second, "exit");
    await allGone();
    expect(readdirSync(data)).toEqual(["nodes"]);
    expect(census(data).groups).toEqual(groups);
  });

  test("a deleted pod leaves no file on its node", async () => {
    const node = await startNode();
    await cluster.client.kind(Pod).delete({ namespace, name: "lasting" }, { gracePeriodSeconds: 1 });
    while ((await cluster.client.kind(Pod).find({ namespace, name: "lasting" })) !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const kept = () => ["pods", "logs"].flatMap((name) => readdirSync(join(data, "nodes/mortal", name)));
    while (kept().length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    node.stdin?.end();
    await once(node, "exit");
    await allGone();
  });
});
