/** What the engine believes of Redis, asked of a real server. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { locateProgram } from "@keelson/images";
import { BackupArchive, DirectoryStore } from "@keelson/kit";
import { afterEach, describe, expect, test } from "vitest";
import { applyInitialization, migrate, schemaVersionOf } from "../src/agent/initialize.ts";
import { archiveFormat } from "../src/agent/manifest.ts";
import { restore } from "../src/agent/restore.ts";
import { observedFixture } from "../src/decide/fixture.ts";
import { closedGuard } from "../src/decide/upgrade.ts";
import { RedisConnection } from "../src/engine/connection.ts";
import { dump } from "../src/engine/dump.ts";
import { readHeader } from "../src/engine/rdb.ts";
import { dialRedis, guardSetting, nowhere, RedisServer } from "../src/engine/redis.ts";
import { ask } from "../src/observe/ask.ts";
import { liveSettings, paths, redisConf, systemUsers } from "../src/resources/settings.ts";
import { livenessScript, preStopScript } from "../src/resources/start-script.ts";
import { aclLines, userOf } from "../src/resources/users.ts";

const found = await locateProgram("redis-server").catch(() => undefined);
const cli = await locateProgram("redis-cli").catch(() => undefined);
const program = found?.path ?? "";
const running: ChildProcess[] = [];
const directories: string[] = [];

afterEach(async () => {
  for (const child of running.splice(0)) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function folder(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "sampledb-redis-"));
  directories.push(directory);
  return directory;
}

interface Started {
  readonly port: number;
  readonly child: ChildProcess;
  connect(): Promise<RedisServer>;
}

async function start(directory: string, options: readonly string[] = []): Promise<Started> {
  const port = await freePort();
  const child = spawn(
    program,
    [
      ...[
        "--port",
        String(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        directory,
        "--save",
        "",
        "--appendonly",
        "yes",
      ],
      ...["--repl-diskless-sync-delay", "0", "--replicaof", nowhere.host, String(nowhere.portWithData)],
      ...options,
    ],
    { stdio: "ignore" },
  );
  running.push(child);
  const connect = async () =>
    new RedisServer(await RedisConnection.open({ host: "127.0.0.1", port }, { timeoutMs: 5_000 }));
  await expect
    .poll(
      async () =>
        await connect().then(
          async (redis) => !(await redis.facts()).loading,
          () => false,
        ),
      { timeout: 20_000 },
    )
    .toBe(true);
  return { port, child, connect };
}

/** How a server answers the operator, and the probe that ends a process that does not live. */
async function seen({ port }: Pick<Started, "port">) {
  const connect = async () => ({ host: "127.0.0.1", port, [Symbol.asyncDispose]: async () => undefined });
  const credentials = { username: "default", password: "any" };
  await using answers = await ask([{ name: "db-0", connect }], {
    ...{ dial: dialRedis, credentials, signal: new AbortController().signal },
  });
  const probe = livenessScript(false).replace("redis-cli --user", `"${cli?.path}" -p ${port} --user`);
  const lives = await promisify(execFile)("sh", ["-c", probe]).then(
    () => true,
    () => false,
  );
  return { answer: answers.byServer.get("db-0"), lives };
}

/** A replica that has a full copy of two keys, and takes its time to write each of them to its volume. */
async function writesItsCopy(delayMs: number, options: readonly string[] = []): Promise<Started> {
  const [first, second] = [await start(await folder()), await start(await folder(), options)];
  await using primary = await first.connect();
  await primary.lead();
  await primary.call(["MSET", "a", "1", "b", "2"]);
  await using replica = await second.connect();
  await replica.set(new Map([["rdb-key-save-delay", String(delayMs * 1_000)]]));
  await replica.follow({ host: "127.0.0.1", port: first.port });
  await expect
    .poll(
      async () => {
        const { keys, rewriting } = await replica.facts();
        return { keys, rewriting };
      },
      { timeout: 20_000, interval: 10 },
    )
    .toEqual({ keys: 2, rewriting: true });
  return second;
}

describe.skipIf(!found)("a real redis-server", () => {
  test("that restarted has no history yet, and a replica keeps that of its primary", async () => {
    const [place, other] = [await folder(), await folder()];
    const first = await start(place);
    const [primary, second] = [await first.connect(), await start(other)];
    const replica = await second.connect();
    await primary.lead();
    await primary.call(["SET", "key", "1"]);
    await replica.follow({ host: "127.0.0.1", port: first.port });
    await expect.poll(async () => (await replica.facts()).linkUp, { timeout: 10_000 }).toBe(true);
    for (let n = 0; n < 5; n++) await primary.call(["SET", "key", String(n)]);
    const { replicationId, offset } = await primary.facts();
    await expect.poll(async () => (await replica.facts()).offset, { timeout: 10_000 }).toBe(offset);
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    await replica.follow({ host: nowhere.host, port: nowhere.portWithData });
    expect(await replica.facts()).toMatchObject({ replicationId, offset });
    expect(offset).toBeGreaterThan(1n);
    const facts = await (await (await start(place)).connect()).facts();
    expect(facts).toMatchObject({ role: "replica", keys: 1 });
    expect(facts.replicationId).not.toBe(replicationId);
    expect(facts.offset).toBeLessThanOrEqual(1n);
  });

  test("that is told to stop while it writes its first append-only file has written it when it ends", async () => {
    const { port, child, connect } = await writesItsCopy(1_000);
    const script = preStopScript(false)
      .replace("redis-cli --user", `"${cli?.path}" -p ${port} --user`)
      .replace(`"$(cat ${paths.internal}/${systemUsers.backup})"`, "any");
    const redis = await connect();
    await redis.setUser(`user ${systemUsers.backup} on nopass +info`);
    await promisify(execFile)("sh", ["-c", script]);
    expect((await redis.facts()).rewriting).toBe(false);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("ends at once when it is told to, though it writes its first append-only file", async () => {
    const setting = /^shutdown-on-sigterm (.+)$/m.exec(redisConf(observedFixture().spec))?.[1] ?? "default";
    const { child } = await writesItsCopy(60_000, ["--shutdown-on-sigterm", setting]);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("that leads while it is closed takes no writes", async () => {
    const redis = await (await start(await folder())).connect();
    await redis.set(new Map([[guardSetting, String(closedGuard)]]));
    await redis.lead();
    await expect(redis.call(["SET", "key", "1"])).rejects.toThrow("NOREPLICAS");
    await redis.set(new Map([[guardSetting, "0"]]));
    await redis.call(["SET", "key", "1"]);
  });

  test("starts as nobody's replica, leads when it is told, and hands over without losing a write", async () => {
    const [one, two] = [await start(await folder()), await start(await folder())];
    await using first = await one.connect();
    await using second = await two.connect();
    expect(await first.facts()).toMatchObject({
      role: "replica",
      upstream: { port: nowhere.portWithData },
      linkUp: false,
    });
    await first.lead();
    const before = await first.facts();
    expect(before).toMatchObject({ role: "primary", guard: 0 });
    await second.follow({ host: "127.0.0.1", port: one.port });
    await expect.poll(async () => (await second.facts()).linkUp, { timeout: 20_000 }).toBe(true);
    await first.call(["SET", "a", "1"]);
    expect(await first.call(["WAIT", 1, 5_000])).toBe(1);
    const lineage = (await first.facts()).replicationId;
    expect((await second.facts()).replicationId).toBe(lineage);
    await first.pauseWrites(5_000);
    const { offset } = await first.facts();
    await expect.poll(async () => (await second.facts()).offset >= offset, { timeout: 20_000 }).toBe(true);
    await second.lead();
    await first.follow({ host: "127.0.0.1", port: two.port });
    expect(await second.facts()).toMatchObject({ role: "primary", secondReplicationId: lineage });
    expect(await second.call(["GET", "a"])).toBe("1");
    await expect.poll(async () => (await first.facts()).linkUp, { timeout: 20_000 }).toBe(true);
    expect(await second.call(["INFO", "stats"])).toContain("sync_partial_ok:1");
  });

  test("runs each migration once, and records none that failed", async () => {
    await using redis = await (await start(await folder())).connect();
    await redis.lead();
    const good = { version: 1, name: "good", script: "redis.call('INCR', 'ran')" };
    const bad = { version: 2, name: "bad", script: "return redis.error_reply('it trips')" };
    const worse = { version: 2, name: "worse", script: "redis.call('NO-SUCH-COMMAND')" };
    await expect(migrate(redis, [good, bad])).rejects.toThrow("it trips");
    await expect(migrate(redis, [good, worse])).rejects.toThrow("migration 2 (worse)");
    expect(await migrate(redis, [good, { ...good, version: 2 }])).toEqual([2]);
    expect(await redis.call(["GET", "ran"])).toBe("2");
  });

  test("that is given its initial configuration twice has users, functions, seed data and migrations once", async () => {
    const [one, two] = [await start(await folder()), await start(await folder())];
    await using primary = await one.connect();
    await using replica = await two.connect();
    await primary.lead();
    await replica.follow({ host: "127.0.0.1", port: one.port });
    await expect.poll(async () => (await replica.facts()).linkUp, { timeout: 20_000 }).toBe(true);
    const content = {
      users: [`user reports on #${hash("sha256", "secret")} resetchannels -@all ~* +@read`],
      functions: [
        "#!lua name=lib\nredis.register_function('greet', function() return redis.call('GET', 'name') end)",
      ],
      commands: [
        ["SET", "name", "ada"],
        ["RPUSH", "seeded", "a", "b c"],
      ],
      migrations: [{ version: 1, name: "first", script: "redis.call('RPUSH', 'ran', '1')" }],
    };
    const apply = async (changes: Partial<typeof content> = {}) =>
      await applyInitialization(primary, [primary, replica], { ...content, ...changes });
    expect(await apply()).toEqual({ schemaVersion: 1, ran: [1] });
    await primary.call(["SET", "name", "grace"]);
    const before = await primary.facts();
    expect(await apply()).toEqual({ schemaVersion: 1, ran: [] });
    expect((await primary.facts()).keys).toBe(before.keys);
    const lists = async () => [
      await primary.call(["LRANGE", "seeded", 0, -1]),
      await primary.call(["LRANGE", "ran", 0, -1]),
    ];
    expect(await lists()).toEqual([["a", "b c"], ["1"]]);
    // What the application wrote since is not seeded over.
    expect(await primary.call(["FCALL", "greet", 0])).toBe("grace");
    expect(await primary.call(["WAIT", 1, 5_000])).toBe(1);
    for (const { port } of [one, two]) {
      const credentials = { username: "reports", password: "secret" };
      await using user = await RedisConnection.open(
        { host: "127.0.0.1", port },
        { credentials, timeoutMs: 5_000 },
      );
      expect(await user.call(["GET", "name"])).toBe("grace");
      await expect(user.call(["SET", "name", "x"])).rejects.toMatchObject({ code: "Denied" });
    }
  });

  test("that is given seed data which fails half way is not given it again, and nobody says that it ran", async () => {
    await using redis = await (await start(await folder())).connect();
    await redis.lead();
    const apply = async (...commands: string[][]) =>
      await applyInitialization(redis, [redis], { users: [], functions: [], migrations: [], commands });
    const trips = [
      ["RPUSH", "seeded", "a"],
      ["INCR", "seeded"],
    ];
    await expect(apply(...trips)).rejects.toThrow("the seed data failed: WRONGTYPE");
    await expect(apply(...trips)).rejects.toThrow("applied in part before, and failed: WRONGTYPE");
    await apply(["RPUSH", "seeded", "b"]);
    await apply(["RPUSH", "seeded", "b"]);
    expect(await redis.call(["LRANGE", "seeded", 0, -1])).toEqual(["a", "b"]);
  });

  test("refuses a migration below those that ran, and two of one version", async () => {
    await using redis = await (await start(await folder())).connect();
    await redis.lead();
    const migration = (version: number) => ({
      ...{ version, name: `m${version}` },
      script: `redis.call('RPUSH', 'ran', '${version}')`,
    });
    expect(await migrate(redis, [migration(2), migration(4)])).toEqual([2, 4]);
    await expect(migrate(redis, [1, 2, 4].map(migration))).rejects.toThrow("give it a version above 4");
    await expect(migrate(redis, [2, 3, 4].map(migration))).rejects.toThrow("migration 3 (m3) has never run");
    await expect(migrate(redis, [4, 5, 5].map(migration))).rejects.toThrow("a version of its own");
    expect(await migrate(redis, [4, 5, 6].map(migration))).toEqual([6]);
    expect(await redis.call(["LRANGE", "ran", 0, -1])).toEqual(["2", "4", "5", "6"]);
    expect(await schemaVersionOf(redis)).toBe(6);
  });

  test("that is closed takes the writes of migrations, and none of anybody else meanwhile", async () => {
    const server = await start(await folder());
    await using redis = await server.connect();
    await using client = await server.connect();
    await redis.lead();
    await redis.set(new Map([[guardSetting, String(closedGuard)]]));
    const slow = "for n = 1, 2000000 do redis.status_reply(n) end redis.call('INCR', 'ran')";
    const migrations = [1, 2, 3].map((version) => ({ version, name: `m${version}`, script: slow }));
    let isOver = false;
    const answers = new Set<string>();
    const write = async () => {
      while (!isOver) answers.add(await client.call(["SET", "a", "1"]).then(String, ({ code }) => code));
    };
    const [ran] = await Promise.all([
      migrate(redis, migrations, { guard: closedGuard }).finally(() => {
        isOver = true;
      }),
      write(),
    ]);
    expect(ran).toEqual([1, 2, 3]);
    expect([...answers]).toEqual(["NoReplicas"]);
    const trips = { version: 4, name: "trips", script: "redis.call('INCR', 'ran') error('it trips')" };
    await expect(migrate(redis, [trips], { guard: closedGuard })).rejects.toThrow("it trips");
    expect((await redis.facts()).guard).toBe(closedGuard);
    await expect(client.call(["SET", "a", "1"])).rejects.toMatchObject({ code: "NoReplicas" });
    expect(await redis.call(["GET", "ran"])).toBe("4");
  });

  test("with a guard that nothing satisfies takes no writes", async () => {
    await using redis = await (await start(await folder())).connect();
    await redis.lead();
    await redis.set(new Map([["min-replicas-to-write", "99"]]));
    await expect(redis.call(["SET", "a", "1"])).rejects.toMatchObject({ code: "NoReplicas" });
    expect((await redis.facts()).guard).toBe(99);
  });

  test("accepts every user and every live setting, and keeps the application away from its administration", async () => {
    const server = await start(await folder());
    await using redis = await server.connect();
    const { spec } = observedFixture();
    const digests = Object.fromEntries(
      ["default", "keelson-operator", "keelson-replica", "keelson-backup"].map((user) => [
        user,
        [hash("sha256", "secret")],
      ]),
    );
    const lines = aclLines(spec, digests);
    await redis.set(liveSettings(spec));
    for (const line of lines.filter((each) => userOf(each) !== "default")) await redis.setUser(line);
    await redis.lead();
    await redis.setUser(lines.find((each) => userOf(each) === "default") ?? "");
    const credentials = { username: "default", password: "secret" };
    await using app = await RedisConnection.open(
      { host: "127.0.0.1", port: server.port },
      { credentials, timeoutMs: 5_000 },
    );
    expect(await app.call(["SET", "a", "1"])).toBe("OK");
    for (const command of [
      ["REPLICAOF", "NO", "ONE"],
      ["CONFIG", "SET", "appendonly", "no"],
      // Replicas log in with it.
      ["CONFIG", "GET", "masterauth"],
      ["ACL", "LIST"],
      ["SHUTDOWN"],
    ])
      await expect(app.call(command)).rejects.toMatchObject({ code: "Denied" });
    const wrong = { credentials: { username: "default", password: "other" }, timeoutMs: 5_000 };
    await expect(RedisConnection.open({ host: "127.0.0.1", port: server.port }, wrong)).rejects.toMatchObject(
      { code: "Denied" },
    );
  });

  test("gives its data as a dump, which becomes an append-only file that survives restarts; what was there is set aside", async () => {
    const source = await start(await folder());
    await using redis = await source.connect();
    await redis.lead();
    for (let index = 0; index < 500; index++) await redis.call(["SET", `key-${index}`, "x".repeat(100)]);
    const parts: Uint8Array[] = [];
    const connection = await RedisConnection.open(
      { host: "127.0.0.1", port: source.port },
      { timeoutMs: 5_000 },
    );
    for await (const part of dump(connection)) parts.push(part);
    const bytes = Buffer.concat(parts);
    const header = readHeader(bytes);
    expect(header).toMatchObject({ format: 10, redisVersion: (await redis.facts()).version });

    const directory = await folder();
    const archive = new BackupArchive(new DirectoryStore(directory), archiveFormat);
    const describeIt = (digest: { sha256: string; sizeBytes: number }) => ({
      format: 1 as const,
      backupUid: "u",
      takenAt: "now",
      ...digest,
      database: "db",
      redisVersion: header.redisVersion,
      rdbVersion: header.format,
      source: "s",
      verified: { at: "now", redisVersion: header.redisVersion, keys: 500 },
    });
    async function* content() {
      yield bytes;
    }
    await archive.publish("b", {
      backupUid: "u",
      source: async () => ({ content: content(), describe: describeIt }),
    });

    const volume = await folder();
    await mkdir(join(volume, "appendonlydir"));
    await writeFile(join(volume, "appendonlydir", "old"), "old");
    const task = {
      do: "restore",
      id: "r",
      from: { store: { directory }, name: "b", allowUnverified: false },
      rdbVersion: 10,
      directory: volume,
    } as const;
    expect(await restore(task)).toEqual({ aside: "aside-r", keys: 500 });
    expect(await restore(task)).toEqual({ aside: "aside-r" });
    expect(await readdir(join(volume, ".keelson", "aside-r"))).toEqual(["old"]);
    await expect(restore({ ...task, id: "s", rdbVersion: 9 })).rejects.toMatchObject({
      code: "VersionTooNew",
    });
    expect(existsSync(join(volume, "appendonlydir", "appendonly.aof.manifest"))).toBe(true);

    const first = await start(volume);
    await using restored = await first.connect();
    await restored.lead();
    expect((await restored.facts()).keys).toBe(500);
    await restored.call(["SET", "after", "1"]);
    first.child.kill("SIGTERM");
    await once(first.child, "exit");
    await using again = await (await start(volume)).connect();
    expect((await again.facts()).keys).toBe(501);
  });

  test("one that runs a script, has too many clients or knows another password is alive, and one that is gone is not", async () => {
    const server = await start(await folder());
    await using redis = await server.connect();
    await redis.set(liveSettings(observedFixture().spec));
    expect(await seen(server)).toMatchObject({ answer: { state: "facts" }, lives: true });
    const script = redis.call(["EVAL", "while true do end", 0], { timeoutMs: 60_000 });
    const ended = expect(script).rejects.toThrow("Script killed");
    await expect
      .poll(async () => await seen(server), { timeout: 20_000 })
      .toMatchObject({ answer: { state: "busy" }, lives: true });
    await using other = await server.connect();
    await other.call(["SCRIPT", "KILL"]);
    await ended;
    await redis.call(["CONFIG", "SET", "maxclients", 2]);
    await expect
      .poll(async () => await seen(server), { timeout: 20_000 })
      .toMatchObject({
        answer: { state: "busy", message: "ERR max number of clients reached" },
        lives: true,
      });
    await redis.call(["CONFIG", "SET", "maxclients", 100]);
    await redis.setUser("user default on >other ~* &* +@all");
    expect(await seen(server)).toMatchObject({ answer: { state: "denied" }, lives: true });
    server.child.kill("SIGKILL");
    await once(server.child, "exit");
    expect(await seen(server)).toMatchObject({ answer: { state: "refused" }, lives: false });
  });

  test("a snapshot that a person takes and that fails is no sign of a full volume", async () => {
    const volume = await folder();
    await using redis = await (await start(volume)).connect();
    await redis.lead();
    await mkdir(join(volume, "dump.rdb"));
    await redis.call(["BGSAVE"]);
    const failed = async () => String(await redis.call(["INFO", "persistence"]));
    await expect.poll(failed, { timeout: 20_000 }).toContain("rdb_last_bgsave_status:err");
    await redis.call(["SET", "a", "1"]);
    expect(await redis.facts()).toMatchObject({ persistenceFailed: false });
  });

  test("a full copy is on the volume of a replica only when its append-only file was written", async () => {
    const volume = await folder();
    const [one, two] = [await start(await folder()), await start(volume)];
    await using first = await one.connect();
    await using second = await two.connect();
    await first.lead();
    for (let key = 0; key < 10; key++) await first.call(["SET", `key-${key}`, "1"]);
    // Each key takes five seconds: the file is not written before the process ends.
    await second.call(["CONFIG", "SET", "rdb-key-save-delay", "5000000"]);
    await second.follow({ host: "127.0.0.1", port: one.port });
    await expect.poll(async () => (await second.facts()).linkUp, { timeout: 20_000 }).toBe(true);
    await first.call(["SET", "after", "1"]);
    expect(await first.call(["WAIT", 1, 20_000])).toBe(1);
    expect(await second.facts()).toMatchObject({ keys: 11, rewriting: true, persistenceFailed: false });
    two.child.kill("SIGKILL");
    await once(two.child, "exit");
    const again = await start(volume);
    await using third = await again.connect();
    expect((await third.facts()).keys).toBe(0);
    await third.follow({ host: "127.0.0.1", port: one.port });
    const written = async () => {
      const { linkUp, keys, rewriting } = await third.facts();
      return linkUp && keys === 11 && !rewriting;
    };
    await expect.poll(written, { timeout: 20_000 }).toBe(true);
    again.child.kill("SIGKILL");
    await once(again.child, "exit");
    await using last = await (await start(volume)).connect();
    expect((await last.facts()).keys).toBe(11);
  });
});
