/** The background process of `keelson cluster up`: the cluster, until it is told to end. */
import { once } from "node:events";
import { enableCompileCache } from "node:module";
import type { ClusterRecord } from "./state.ts";
import type { FromServer, UpOptions } from "./up.ts";

enableCompileCache();
const settings = JSON.parse(process.argv[2] ?? "{}") as UpOptions & { name: string };

try {
  const [{ startCluster }, { clusterDirectory, startTicksOf, writeRecord }, { pinoLogger }] =
    await Promise.all([import("../cluster.ts"), import("./state.ts"), import("@keelson/runtime")]);
  const log = await pinoLogger({ name: "cluster" });
  const { name, nodes = 1, dataDir } = settings;
  const cluster = await startCluster({
    ...settings,
    stateDir: clusterDirectory(name),
    log,
    onProgress: (sentence) => tell({ type: "progress", sentence }),
  });
  const record: ClusterRecord = {
    name,
    pid: process.pid,
    startTicks: startTicksOf(process.pid) ?? "",
    server: cluster.server,
    kubeconfig: cluster.kubeconfig,
    nodes,
    pods: cluster.pods,
    ...(dataDir && { dataDir }),
    startedAt: new Date().toISOString(),
  };
  await writeRecord(record);
  tell({ type: "ready", record });
  const end = await Promise.race([
    once(process, "SIGTERM").then(() => undefined),
    once(process, "SIGINT").then(() => undefined),
    cluster.failure,
  ]);
  if (end) log.error("the cluster ends because a part of it did", { error: end.message });
  await cluster.stop();
  process.exit(end ? 1 : 0);
} catch (error) {
  console.error(error);
  tell({ type: "failed", message: error instanceof Error ? error.message : String(error) });
  process.exit(1);
}

/** The starter may be gone by now, and that is no reason to end. */
function tell(message: FromServer): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
