/** Provokes every error of @keelson/kit; those of a database's agent with the etcd operator's. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type BackupErrorCode, DirectoryStore, readAll, S3Store } from "@keelson/kit";
import { adoptData, fetchSnapshot } from "../../../operators/etcd/src/agent/fetch.ts";
import type { RestoreRequirements } from "../../../operators/etcd/src/agent/task.ts";
import { verifySnapshot } from "../../../operators/etcd/src/agent/verify.ts";
import { checkedSnapshot } from "../../../operators/etcd/src/engine/checked-snapshot.ts";
import { snapshotArchive } from "../../../operators/etcd/src/engine/snapshot-archive.ts";
import { chooseSource } from "../../../operators/etcd/src/engine/snapshot-source.ts";
import { type Provocations, temporary } from "../provoked.ts";

export const kit: Provocations<BackupErrorCode> = {
  NoMember: () => chooseSource([]),
  SnapshotDamaged: async () => {
    for await (const _ of checkedSnapshot(chunks("cut")));
  },
  StoreUnavailable: () => answering(503),
  StoreRefused: () => answering(403),
  NotFound: async () => readAll((await directory()).get("none")),
  NotOurs: async () => {
    const { archive, source } = await archived();
    return await archive.publish("backup", { backupUid: "another", source });
  },
  StoredDamaged: async () => {
    const { archive, store } = await archived();
    await store.put("backup.json", chunks("not json"));
    return await archive.read("backup");
  },
  VersionTooNew: () => fetched({ version: "3.4.0", verified: false }),
  NotVerified: () => fetched({ version: "3.6.0", verified: true }),
  ContentDiffers: async () => {
    const { archive } = await archived();
    const scratch = { get: async () => ({}), status: async () => ({ revision: 1n }) };
    return await verifySnapshot({ archive, name: "backup", scratch, members: [] } as never);
  },
  RestoreFailed: async () => {
    const from = await temporary();
    return await adoptData({ from, to: join(from, "data"), file: join(from, "snapshot.db") });
  },
  BadConfiguration: async () => readAll((await directory()).get("../outside")),
};

async function directory(): Promise<DirectoryStore> {
  return new DirectoryStore(await temporary());
}

async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** A backup of etcd 3.5.0 at revision 7 that nobody has verified. */
async function archived() {
  const store = await directory();
  const archive = snapshotArchive(store);
  const source = async () => ({
    content: chunks("content"),
    describe: (digest: { sha256: string; sizeBytes: number }) => ({
      format: 1 as const,
      backupUid: "mine",
      takenAt: "2026-01-01T00:00:00Z",
      cluster: "default/etcd",
      clusterId: "1",
      memberId: "2",
      etcdVersion: "3.5.0",
      revisionAtLeast: "7",
      ...digest,
    }),
  });
  await archive.publish("backup", { backupUid: "mine", source });
  return { archive, store, source };
}

async function fetched(requirements: RestoreRequirements): Promise<unknown> {
  const { archive } = await archived();
  const file = join(await temporary(), "snapshot.db");
  return await fetchSnapshot({ archive, name: "backup", file, requirements });
}

/** A store that answers everything with one status. */
async function answering(status: number): Promise<unknown> {
  const server = createServer((_, response) => response.writeHead(status).end());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const store = new S3Store({
    endpoint: `http://127.0.0.1:${port}`,
    region: "local",
    bucket: "backups",
    credentials: { accessKeyId: "id", secretAccessKey: "key" },
    attempts: 1,
  });
  try {
    return await store.head("backup");
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
