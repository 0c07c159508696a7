/** Clusters in the background: they are found, broken, killed and taken down, and leave nothing. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@keelson/client";
import { Node, PersistentVolumeClaim, Pod } from "@keelson/core/kinds";
import { census } from "@keelson/machine/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { titled, whyNoSandbox } from "../../node/test/node-machine.ts";
import {
  type ClusterRecord,
  clusterDown,
  clusterNames,
  clusterUp,
  injectFault,
  readRecord,
} from "../src/up/index.ts";

const reason = await whyNoSandbox();
const namespace = "default";

const suite = titled("a cluster in the background", reason);
describe.skipIf(reason !== undefined)(suite, { timeout: 120_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "klup-"));
  const before = process.env.KEELSON_STATE;
  // A path as people have them: every tool on the way must take it.
  const data = "my data, #1";
  const dataDir = join(home, data);
  beforeAll(() => {
    process.env.KEELSON_STATE = join(home, "state");
  });
  afterAll(async () => {
    await clusterDown();
    if (before === undefined) delete process.env.KEELSON_STATE;
    else process.env.KEELSON_STATE = before;
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  /** Waits until the pod of that name is ready after so many restarts. */
  const ready = async (record: ClusterRecord, restarts: number) => {
    const client = await connect({ kubeconfig: record.kubeconfig });
    for await (const event of client.kind(Pod).reflect({ namespace, fields: "metadata.name=keeper" })) {
      if (!("object" in event)) continue;
      const status = event.object.status?.containerStatuses?.[0];
      if (status?.ready && status.restartCount === restarts) break;
    }
    await client.close();
  };
  const allGone = async () => {
    while (census(home).processes.length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  };

  const keeper = {
    metadata: { name: "keeper", namespace },
    spec: {
      containers: [
        {
          name: "c",
          image: "busybox",
          command: ["sh", "-c", "echo life >> /d/lives; touch /up; exec sleep 100000"],
          readinessProbe: { exec: { command: ["test", "-e", "/up"] }, periodSeconds: 1 },
          resources: { limits: { memory: "64Mi" } },
          volumeMounts: [{ name: "d", mountPath: "/d" }],
        },
      ],
      volumes: [{ name: "d", persistentVolumeClaim: { claimName: "d" } }],
    },
  };

  test("survives the death of everything, and being taken down, with its pods and their data", async () => {
    const groups = census(home).groups;
    const first = await clusterUp({ dataDir });
    const client = await connect({ kubeconfig: first.kubeconfig });
    await client.kind(PersistentVolumeClaim).create({
      metadata: { name: "d", namespace },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "8Mi" } } },
    });
    await client.kind(Pod).create(keeper);
    await client.close();
    await ready(first, 0);
    expect(census(home).networks.length).toBeGreaterThan(0);

    process.kill(first.pid, "SIGKILL");
    await allGone();
    expect(await readRecord("default")).toBeUndefined();

    const second = await clusterUp({ dataDir });
    await ready(second, 1);
    expect(await clusterDown()).toBe(true);
    expect(await clusterNames()).toEqual([]);

    const third = await clusterUp({ dataDir });
    await ready(third, 2);
    const [volume = ""] = readdirSync(join(dataDir, "node/volumes"));
    expect(readFileSync(join(dataDir, "node/volumes", volume, "lives"), "utf8")).toBe("life\nlife\nlife\n");
    await clusterDown();
    await allGone();
    const left = census(home);
    expect({ ...left, files: left.files.filter((path) => !path.startsWith(`${data}/`)) }).toEqual({
      ...{ processes: [], mounts: [], networks: [], groups },
      files: [data, "state", "state/clusters"],
    });
    expect(readdirSync(dataDir).toSorted()).toEqual(["apiserver", "node"]);
  });

  test("removes what a pod left that was deleted while its node was down, and keeps its claim", async () => {
    const record = await clusterUp({ dataDir: join(home, "claims") });
    const client = await connect({ kubeconfig: record.kubeconfig });
    await client.kind(PersistentVolumeClaim).create({
      metadata: { name: "d", namespace },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "8Mi" } } },
    });
    const [container] = keeper.spec.containers;
    const volumeMounts = [{ name: "d", mountPath: "/d", subPath: "sub" }];
    const containers = [{ ...container, name: "c", volumeMounts }];
    await client.kind(Pod).create({ ...keeper, spec: { ...keeper.spec, containers } });
    await ready(record, 0);
    await injectFault({ kind: "nodeDown", node: "node-1" });
    await client.kind(Pod).delete({ name: "keeper", namespace }, { gracePeriodSeconds: 0 });
    await injectFault({ kind: "nodeUp", node: "node-1" });
    const pods = join(home, "claims/node/nodes/node-1/pods");
    const [volume = ""] = readdirSync(join(home, "claims/node/volumes"));
    const lives = join(home, "claims/node/volumes", volume, "sub/lives");
    while (readdirSync(pods).length > 0 && existsSync(lives))
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(readFileSync(lives, "utf8")).toBe("life\n");
    await client.close();
    await clusterDown();
    await allGone();
  });

  test("two cannot share a data directory, and the second is told who has it", async () => {
    const first = await clusterUp({ dataDir, nodes: 0 });
    await expect(clusterUp({ name: "other", dataDir, nodes: 0 })).rejects.toThrow(
      `is in use by process ${first.pid}`,
    );
    await clusterDown("other");
    await clusterDown();
  });

  test("one that was killed without a data directory leaves nothing to the next", async () => {
    const first = await clusterUp();
    process.kill(first.pid, "SIGKILL");
    await allGone();
    const second = await clusterUp();
    const client = await connect({ kubeconfig: second.kubeconfig });
    expect((await client.kind(Pod).list({ namespace })).items).toEqual([]);
    await client.close();
    await clusterDown();
    expect(census(home).files.filter((path) => path.startsWith("state/"))).toEqual(["state/clusters"]);
  });

  test("a node whose process is killed is started again, with its pods", async () => {
    const record = await clusterUp();
    const client = await connect({ kubeconfig: record.kubeconfig });
    const { volumes: _, ...spec } = keeper.spec;
    const containers = spec.containers.map(({ volumeMounts: _, command: __, ...rest }) => ({
      ...rest,
      command: ["sh", "-c", "touch /up; exec sleep 100000"],
    }));
    await client.kind(Pod).create({ ...keeper, spec: { containers } });
    await ready(record, 0);
    const inside = census(home).processes.find((pid) => {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words[0] === process.execPath && words.some((word) => word.endsWith("/inside.ts"));
    });
    expect(inside).toBeDefined();
    process.kill(inside ?? 0, "SIGKILL");
    await ready(record, 1);
    expect(await readRecord("default")).toBeDefined();
    await client.close();
    await clusterDown();
    await allGone();
  });

  test("a node that is cut off is not seen, and is seen again when the network is restored", async () => {
    const record = await clusterUp();
    const client = await connect({ kubeconfig: record.kubeconfig });
    const health = () => client.raw({ path: "/api/v1/nodes/node-1/proxy/pods" });
    await injectFault({ kind: "nodeCut", node: "node-1" });
    await expect(health()).rejects.toThrow();
    await injectFault({ kind: "nodeMend", node: "node-1" });
    await expect(health()).resolves.toBeDefined();
    await expect(injectFault({ kind: "nodeCut", node: "nowhere" })).rejects.toThrow("no node nowhere");
    await expect(injectFault({ kind: "nodeCut", node: "node-1" }, "other")).rejects.toThrow(
      "no cluster other is up; choose one with --name: default",
    );
    await expect(injectFault({ kind: "kill", pod: { namespace, name: "nobody" } })).rejects.toThrow(
      "pod default/nobody is not on this node",
    );
    expect((await client.kind(Node).list()).items).toHaveLength(1);
    await client.close();
    await clusterDown();
    await expect(injectFault({ kind: "mend" })).rejects.toThrow("no cluster default is up");
  });
});
