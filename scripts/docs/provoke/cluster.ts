/** Provokes every error of @keelson/cluster. */

import { type AddressInfo, createServer } from "node:net";
import { type ClusterErrorCode, startCluster } from "@keelson/cluster";
import { clusterDown, clusterUp, injectFault } from "@keelson/cluster/up";
import { type Provocations, temporary } from "../provoked.ts";

export const cluster: Provocations<ClusterErrorCode> = {
  BadName: () => clusterDown("Not A Name"),
  BadDataDir: async () => {
    const state = await temporary();
    return await withState(state, () => clusterUp({ name: "none", dataDir: `${state}/clusters/none` }));
  },
  NoState: () => withState("/sys/keelson", () => clusterDown("none")),
  StartFailed: async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, "127.0.0.1", done));
    const { port } = taken.address() as AddressInfo;
    try {
      return await withState(await temporary(), () => clusterUp({ name: "none", nodes: 0, port }));
    } finally {
      taken.close();
    }
  },
  InUse: async () => {
    const dataDir = await temporary();
    await using _ = await startCluster({ nodes: 0, controllers: false, dataDir });
    return await startCluster({ nodes: 0, controllers: false, dataDir });
  },
  NotRunning: async () =>
    await withState(await temporary(), () => injectFault({ kind: "freezeApi", frozen: true }, "nowhere")),
  Unsupported: async () => {
    await using running = await startCluster({ nodes: 0, controllers: false });
    return await running.inject({ kind: "killContainer" } as never);
  },
};

/** With another place for the records of clusters. */
async function withState<T>(directory: string, run: () => Promise<T>): Promise<T> {
  const { KEELSON_STATE } = process.env;
  process.env["KEELSON_STATE"] = directory;
  try {
    return await run();
  } finally {
    if (KEELSON_STATE === undefined) delete process.env["KEELSON_STATE"];
    else process.env["KEELSON_STATE"] = KEELSON_STATE;
  }
}
