/** The background process of `keelson cluster up`: the cluster, until it is told to end. */
import { once } from "node:events";
import { join } from "node:path";
import { explainSystemError, removeTree, socketDirectory, startTicksOf } from "@keelson/machine";
import type { Logger } from "@keelson/runtime";
import { startCluster } from "../cluster.ts";
import { serveControl } from "./control.ts";
import { type ClusterRecord, clusterDirectory, writeRecord } from "./state.ts";
import type { FromServer, UpOptions } from "./up.ts";

// Not by the command line, which every user of the machine can read: a token may be among them.
const [settings] = (await once(process, "message")) as [UpOptions & { name: string }];

try {
  const { name, nodes = 1, dataDir } = settings;
  let log: Logger | undefined;
  const cluster = await startCluster({
    ...settings,
    stateDir: clusterDirectory(name),
    log: async () => {
      const { pinoLogger } = await import("@keelson/runtime");
      log = await pinoLogger({ name: "cluster" });
      return log;
    },
    // A power cut that can be foreseen: servers with something to lose are asked to end first.
    stopGraceMs: dataDir === undefined ? 0 : 2_000,
    onProgress: (sentence) => tell({ type: "progress", sentence }),
  });
  // Who wanted it gave up before it was there: nobody knows of it, so nobody would end it.
  if (!process.connected) {
    await cluster.stop();
    process.exit(1);
  }
  const sockets = await socketDirectory(clusterDirectory(name));
  const record: ClusterRecord = {
    name,
    pid: process.pid,
    startTicks: startTicksOf(process.pid) ?? "",
    server: cluster.server,
    kubeconfig: cluster.kubeconfig,
    bootstrapKubeconfig: cluster.bootstrapKubeconfig,
    control: join(sockets, "control.sock"),
    nodes,
    pods: cluster.pods,
    ...(dataDir && { dataDir }),
    startedAt: new Date().toISOString(),
  };
  const control = await serveControl(record.control, cluster);
  await writeRecord(record);
  tell({ type: "ready", record });
  const end = await Promise.race([
    once(process, "SIGTERM").then(() => undefined),
    once(process, "SIGINT").then(() => undefined),
    cluster.failure,
  ]);
  if (end) log?.error("the cluster ends because a part of it did", { error: end.message });
  await control[Symbol.asyncDispose]();
  if (sockets !== clusterDirectory(name)) await removeTree(sockets);
  await cluster.stop();
  process.exit(end ? 1 : 0);
} catch (error) {
  console.error(error);
  const message = explainSystemError(error) ?? (error instanceof Error ? error.message : String(error));
  tell({ type: "failed", message });
  process.exit(1);
}

/** The starter may be gone by now, and that is no reason to end. */
function tell(message: FromServer): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
