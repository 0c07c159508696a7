/** A real etcd that restarts without a quorum: it serves no client, and its metrics say how far it has got. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EtcdGateway } from "../src/engine/gateway.ts";
import {
  type EtcdTools,
  etcdTools,
  freePort,
  type StartOptions,
  scratchDirectory,
  startEtcd,
} from "./backup/etcd-process.ts";

for (const line of ["3.4", "3.5", "3.6", "3.7"] as const) {
  const tools = await etcdTools(line);
  const reason = "missing" in tools ? ` (skipped: ${tools.missing})` : "";
  describe.skipIf("missing" in tools)(`etcd ${line}${reason}`, () => {
    it("does not tell its status, but its revision", { timeout: 120_000 }, async () => {
      await restart(tools as EtcdTools);
    });
  });
}

const progressAt = async (port: number) => await new EtcdGateway({ host: "127.0.0.1", port }).progress();

async function restart(tools: EtcdTools): Promise<void> {
  await using directory = await scratchDirectory();
  const ports = [await freePort(), await freePort()];
  const initialCluster = ports.map((port, index) => `m${index}=http://127.0.0.1:${port}`).join(",");
  const [first, second] = ports.map((peerPort, index) => ({
    ...{ name: `m${index}`, token: "t", peerPort, initialCluster },
    dataDirectory: join(directory.path, `m${index}`),
  })) as [StartOptions, StartOptions];
  const ids: string[] = [];
  {
    await using stack = new AsyncDisposableStack();
    const [member] = await Promise.all(
      [first, second].map(async (options) => stack.use(await startEtcd(tools, options))),
    );
    for (let i = 0; i < 9; i++) await member?.etcd.put("key", String(i));
    const { revision, raftIndex: index } = (await member?.etcd.status()) ?? {};
    expect(revision).toBe(10n);
    expect(await progressAt(member?.metricsPort ?? 0)).toMatchObject({ revision, index, learner: false });
    ids.push(...((await member?.etcd.members())?.members.map(({ id }) => id) ?? []));
  }
  await using again = await startEtcd(tools, {
    ...first,
    until: async ({ metricsPort }) => await progressAt(metricsPort),
  });
  await expect(again.etcd.status({ timeoutMs: 2_000 })).rejects.toMatchObject({ code: "Unreachable" });
  // That the last write was committed, a member may not have noted before it was killed.
  const { revision, learner } = await progressAt(again.metricsPort);
  expect(revision).toBeGreaterThanOrEqual(9n);
  expect(learner).toBe(false);
  // The metrics of 3.4 name nobody.
  if (tools.version.startsWith("3.4.")) return;
  // It notices after a while that it does not reach the other.
  const peers = async () => (await progressAt(again.metricsPort)).peers;
  await expect.poll(peers, { timeout: 30_000 }).toHaveLength(1);
  expect(ids).toEqual(expect.arrayContaining([...(await peers())]));
}
