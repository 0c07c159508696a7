/** Backup, verification and restore on real etcd processes, through a bucket that checks signatures. */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { StoreLocation } from "@keelson/kit";
import { s3Server } from "@keelson/kit/testing";
import { describe, expect, it } from "vitest";
import { runTask } from "../../src/agent/run.ts";
import type { AgentTask } from "../../src/agent/task.ts";
import { canBumpRevisions, restoreCommand } from "../../src/engine/restore-command.ts";
import { type EtcdTools, etcdTools, freePort, scratchDirectory, startEtcd } from "./etcd-process.ts";

const lines = ["3.4", "3.5", "3.6", "3.7"] as const;
const located = await Promise.all(lines.map(async (line) => [line, await etcdTools(line)] as const));
const name = "default/prod/nightly-1234";
const backupUid = "1234";

for (const [line, tools] of located) {
  const reason = "missing" in tools ? ` (skipped: ${tools.missing})` : "";
  describe.skipIf("missing" in tools)(`etcd ${line}${reason}`, () => {
    it("is copied, restored into a scratch member, compared, and restored with revisions raised", {
      timeout: 120_000,
    }, async () => {
      await journey(tools as EtcdTools);
    });

    it("is verified though a lease expires in the scratch member, while the cluster writes something else", {
      timeout: 120_000,
    }, async () => {
      await expiry(tools as EtcdTools);
    });
  });
}

async function journey(tools: EtcdTools): Promise<void> {
  await using server = await s3Server();
  await using directory = await scratchDirectory();
  await using source = await startEtcd(tools, {
    name: "m0",
    token: "old",
    dataDirectory: join(directory.path, "m0"),
  });
  for (let i = 0; i < 200; i++) await source.etcd.put(`key-${i % 150}`, `${"value".repeat(2_000)}-${i}`);
  await source.etcd.compact(50n);
  const store = await bucket(server, directory.path);
  const members = { hosts: ["127.0.0.1"], port: source.port };
  const run = async (task: AgentTask) => {
    const report = await runTask(task);
    if (!report.ok) throw new Error(`${task.do}: ${report.code}: ${report.message}`);
    return report.manifest;
  };

  const copied = await run({ do: "copy", store, name, backupUid, cluster: "prod", members });
  expect(copied).toMatchObject({ backupUid, etcdVersion: tools.version, revisionAtLeast: "201" });
  expect([...server.objects.keys()]).toEqual([`etcd/${name}.db`, `etcd/${name}.json`]);
  expect(server.objects.get(`etcd/${name}.db`)?.length).toBe(copied?.sizeBytes);
  await source.etcd.put("after", "the backup");
  expect(await run({ do: "copy", store, name, backupUid, cluster: "prod", members })).toEqual(copied);

  const file = join(directory.path, "scratch", "snapshot.db");
  await run({ do: "fetch", store, name, file });
  const scratchPort = await freePort();
  const scratchData = join(directory.path, "scratch", "data");
  await restore(tools, { file, dataDirectory: scratchData, peerPort: scratchPort, bumpRevisions: 0 });
  {
    await using scratch = await startEtcd(tools, {
      name: "restored",
      token: "new",
      dataDirectory: scratchData,
      peerPort: scratchPort,
    });
    const access = { hosts: ["127.0.0.1"], port: scratch.port };
    const verified = await run({ do: "verify", store, name, scratch: access, members });
    expect(verified?.verified).toMatchObject({
      revision: "201",
      keys: 150,
      compared: true,
    });
    expect((await scratch.etcd.get("key-149")).value).toContain("-149");
    expect((await scratch.etcd.get("after")).value).toBeUndefined();
  }

  const seedPort = await freePort();
  const data = join(directory.path, "seed", "data");
  const part = join(directory.path, "seed", "restoring");
  const bumpRevisions = 1_000_000_000;
  for (const round of ["adopted", "again, over its own data"]) {
    await run({ do: "fetch", store, name, file, clear: [part] });
    await restore(tools, { file, dataDirectory: part, peerPort: seedPort, bumpRevisions });
    await run({ do: "adopt", from: part, to: data, file });
    await using seed = await startEtcd(tools, {
      name: "restored",
      token: "new",
      dataDirectory: data,
      peerPort: seedPort,
    });
    expect(await seed.etcd.count(), round).toBe(round === "adopted" ? 150 : 151);
    const bumped = canBumpRevisions(tools.version) ? 1_000_000_000n : 0n;
    expect((await seed.etcd.status()).revision, round).toBeGreaterThanOrEqual(201n + bumped);
    await seed.etcd.put("written after the restore", round);
  }
}

/** By the time that the verification looks, the restored member has deleted the key of a lease of a few seconds. */
async function expiry(tools: EtcdTools): Promise<void> {
  await using directory = await scratchDirectory();
  await using source = await startEtcd(tools, {
    name: "m0",
    token: "old",
    dataDirectory: join(directory.path, "m0"),
  });
  const call = async (path: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${source.port}/v3/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
  };
  await call("lease/grant", { ID: 7, TTL: 5 });
  await call("kv/put", { key: btoa("short"), value: btoa("lived"), lease: 7 });
  const store = { directory: join(directory.path, "store") };
  const members = { hosts: ["127.0.0.1"], port: source.port };
  const copied = await runTask({ do: "copy", store, name, backupUid, cluster: "prod", members });
  expect(copied).toMatchObject({ ok: true, manifest: { revisionAtLeast: "2" } });
  for (let i = 0; i < 3; i++) await source.etcd.put("later", String(i));
  const file = join(directory.path, "scratch", "snapshot.db");
  await runTask({ do: "fetch", store, name, file });
  const peerPort = await freePort();
  const dataDirectory = join(directory.path, "scratch", "data");
  await restore(tools, { file, dataDirectory, peerPort, bumpRevisions: 0 });
  await using scratch = await startEtcd(tools, { name: "restored", token: "new", dataDirectory, peerPort });
  await expect.poll(() => scratch.etcd.count(), { timeout: 60_000 }).toBe(0);
  const access = { hosts: ["127.0.0.1"], port: scratch.port };
  const report = await runTask({ do: "verify", store, name, scratch: access, members });
  expect(report).toMatchObject({ ok: true, manifest: { verified: { revision: "2", compared: true } } });
}

it("a fetch fails when the stored snapshot is not what was written, or not what is required", async () => {
  await using server = await s3Server();
  await using directory = await scratchDirectory();
  const store = await bucket(server, directory.path);
  const manifest = {
    format: 1,
    backupUid,
    cluster: "prod",
    clusterId: "1",
    memberId: "1",
    etcdVersion: "3.6.16",
    takenAt: "2026-01-01T00:00:00Z",
    revisionAtLeast: "1",
    sha256: "00",
    sizeBytes: 3,
  };
  server.objects.set(`etcd/${name}.json`, Buffer.from(JSON.stringify(manifest)));
  server.objects.set(`etcd/${name}.db`, Buffer.from("abc"));
  const file = join(directory.path, "snapshot.db");
  const report = await runTask({ do: "fetch", store, name, file });
  expect(report).toMatchObject({ ok: false, code: "StoredDamaged" });
  const requirements = { version: "3.6.16", verified: true };
  const unverified = await runTask({ do: "fetch", store, name, file, requirements });
  expect(unverified).toMatchObject({ ok: false, code: "NotVerified" });
  const older = { version: "3.5.35", verified: false };
  const tooNew = await runTask({ do: "fetch", store, name, file, requirements: older });
  expect(tooNew).toMatchObject({ ok: false, code: "VersionTooNew" });
});

it("the agent process does its task, and leaves its report for the kubelet", async () => {
  await using directory = await scratchDirectory();
  const log = join(directory.path, "termination-log");
  const agent = join(import.meta.dirname, "../../src/agent/main.ts");
  const task: AgentTask = { do: "remove", store: { directory: directory.path }, name, backupUid };
  await mkdir(join(directory.path, "default/prod"), { recursive: true });
  await writeFile(join(directory.path, `${name}.db`), "left behind");
  const env = { ...process.env, KEELSON_BACKUP_TASK: JSON.stringify(task), TERMINATION_LOG: log };
  await promisify(execFile)(process.execPath, ["--conditions=keelson-source", agent], { env });
  expect(JSON.parse(await readFile(log, "utf8"))).toEqual({ ok: true });
});

async function bucket(
  server: Awaited<ReturnType<typeof s3Server>>,
  directory: string,
): Promise<StoreLocation> {
  const credentials = join(directory, "credentials");
  await mkdir(credentials);
  for (const [key, value] of Object.entries(server.credentials))
    await writeFile(join(credentials, key), `${value}\n`);
  const { endpoint } = server;
  return { s3: { endpoint, region: "us-east-1", bucket: server.bucket, prefix: "etcd", credentials } };
}

async function restore(
  tools: EtcdTools,
  options: { file: string; dataDirectory: string; peerPort: number; bumpRevisions: number },
): Promise<void> {
  const { peerPort, ...rest } = options;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const [program = "", ...args] = restoreCommand(
    { ...rest, version: tools.version, member: "restored", peerUrl, token: "new" },
    tools.programs,
  );
  await promisify(execFile)(program, args);
}
