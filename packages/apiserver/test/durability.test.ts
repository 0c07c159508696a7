import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backgroundClock } from "@keelson/core/internal";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ApiObject } from "../src/contracts/object.ts";
import { type Disk, realDisk } from "../src/storage/disk.ts";
import { openFileJournal } from "../src/storage/file-journal.ts";
import { readDirectory } from "../src/storage/journal-files.ts";
import { Store } from "../src/storage/store.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "durability-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function open(disk?: Disk, maxLogBytes?: number): Promise<Store> {
  const journal = await openFileJournal({
    directory,
    ...(disk && { disk }),
    ...(maxLogBytes && { maxLogBytes }),
  });
  return new Store({ clock: backgroundClock, journal });
}

const object = (name: string, value = "x"): ApiObject => ({ metadata: { name }, value });

/** What a directory holds, by key. */
function contents(of = directory): Map<string, string> {
  const things = readDirectory(of).state.get("things") ?? new Map<string, ApiObject>();
  return new Map([...things].map(([key, { value }]) => [key, String(value)]));
}

describe("a writer that is killed", () => {
  const writer = join(import.meta.dirname, "durable-writer.ts");

  /** Starts a writer; what it has acknowledged so far, in order. */
  async function start(round: number): Promise<{ child: ChildProcess; acknowledged: () => string[] }> {
    const child = spawn(
      process.execPath,
      ["--conditions=keelson-source", "--no-warnings", writer, directory, String(round)],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    let text = "";
    await new Promise<void>((resolve, reject) => {
      child.stdout.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.startsWith("ready")) resolve();
      });
      child.once("exit", () => reject(new Error("the writer ended by itself")));
    });
    return { child, acknowledged: () => text.split("\n").slice(1, -1) };
  }

  async function acknowledges(acknowledged: () => string[], count: number): Promise<void> {
    while (acknowledged().length < count) await new Promise((resolve) => setImmediate(resolve));
  }

  async function kill(child: ChildProcess): Promise<void> {
    const closed = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await closed;
  }

  it("at any moment has kept all that it acknowledged, over many lives and many logs", async () => {
    const expected = new Map<string, string>();
    let sequences = 0;
    for (let round = 0; round < 12; round++) {
      const { child, acknowledged } = await start(round);
      const until = 20 + Math.floor(Math.random() * 1_500);
      await acknowledges(acknowledged, until);
      await kill(child);
      for (const line of acknowledged()) {
        const [key = "", value] = line.split("=");
        if (value === undefined) expected.delete(key);
        else expected.set(key, value);
      }
      const opened = readDirectory(directory);
      sequences = opened.sequence;
      const found = contents();
      // A write of each writer may have been under way: it may be there, with a later value or gone.
      const differing = [...expected].filter(([key, value]) => found.get(key) !== value);
      const writers = differing.map(([key]) => key.split("-")[0]);
      expect(new Set(writers).size).toBe(writers.length);
      for (const [key, value] of differing) {
        const after = found.get(key);
        if (after !== undefined) expect(order(after)).toBeGreaterThan(order(value));
      }
      expected.clear();
      for (const [key, value] of found) expected.set(key, value);
    }
    expect(sequences).toBeGreaterThan(3);
  }, 120_000);

  it("leaves its directory to the next, which none has before", async () => {
    const { child, acknowledged } = await start(0);
    await acknowledges(acknowledged, 20);
    await expect(open()).rejects.toMatchObject({ code: "Locked" });
    await kill(child);
    const store = await open();
    expect(store.table("things").size).toBeGreaterThan(0);
    await store.close();
  });
});

function order(value: string): number {
  const [round = 0, count = 0] = value.split(".").map(Number);
  return round * 1e9 + count;
}

describe("a loss of power", () => {
  const log = () => join(directory, "log-1");

  /** Three groups that are acknowledged, and one of many pages that is not. */
  async function image(size: number): Promise<{ bytes: Buffer; before: number }> {
    const store = await open();
    const table = store.table("things");
    for (let group = 0; group < 3; group++) {
      for (let i = 0; i < 5; i++) store.create(table, `g${group}-${i}`, object(`g${group}-${i}`));
      await store.settled();
    }
    const before = readDirectory(directory).end;
    for (let i = 0; i < 20; i++) store.create(table, `last-${i}`, object(`last-${i}`, "y".repeat(size)));
    await store.settled();
    await store.close();
    return { bytes: readFileSync(log()), before };
  }

  const kept = () => [...contents().keys()].filter((key) => key.startsWith("g")).length;
  const last = () => [...contents().keys()].filter((key) => key.startsWith("last")).length;

  it("at every byte of what was being written cuts that and nothing else", async () => {
    const { bytes, before } = await image(10);
    for (let cut = before; cut < bytes.length; cut++) {
      for (const tail of [0, 4096]) {
        writeFileSync(log(), Buffer.concat([bytes.subarray(0, cut), Buffer.alloc(tail)]));
        const { end, state } = readDirectory(directory);
        expect(end).toBe(before);
        expect(state.get("things")?.size).toBe(15);
      }
    }
  }, 60_000);

  it("that takes any pages of what was being written leaves all of it or nothing", async () => {
    const { bytes, before } = await image(1_000);
    const pages = Math.ceil((bytes.length - before) / 512);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: pages, maxLength: pages, max: 1 }), async (present) => {
        const written = Buffer.alloc(bytes.length + 8192);
        bytes.copy(written, 0, 0, before);
        for (const [page, isThere] of present.entries()) {
          const from = before + page * 512;
          if (isThere) bytes.copy(written, from, from, Math.min(from + 512, bytes.length));
        }
        writeFileSync(log(), written);
        expect(kept()).toBe(15);
        expect(last()).toBe(present.every((isThere) => isThere === 1) ? 20 : 0);
      }),
      { numRuns: 300, examples: [[new Uint8Array(pages).fill(1)], [new Uint8Array(pages)]] },
    );
  });

  it("that leaves old bytes behind the cut does not bring them back", async () => {
    const { bytes, before } = await image(1_000);
    writeFileSync(log(), bytes.subarray(0, bytes.length - 1));
    const store = await open();
    store.create(store.table("things"), "new", object("new"));
    await store.settled();
    await store.close();
    expect(readFileSync(log()).length).toBeLessThan(before + 500);
    expect(contents().has("new")).toBe(true);
    expect(last()).toBe(0);
  });
});

describe("a commit that answers another", () => {
  it("does not write to where one that waits is written", async () => {
    const store = await open();
    const table = store.table("things");
    // As the IPAddress of a Service is made: within the event of its commit.
    table.subscribe(({ key }) => void store.create(store.table("answers"), key, object(key)));
    const write = async (writer: number) => {
      for (let count = 0; count < 100; count++) {
        const key = `w${writer}-${count}`;
        store.create(table, key, object(key, "z".repeat(count)));
        await store.settled();
      }
    };
    await Promise.all([0, 1, 2, 3].map(write));
    await store.close();
    expect(contents().size).toBe(400);
    expect(readDirectory(directory).state.get("answers")?.size).toBe(400);
  });
});

describe("a log that is replaced", () => {
  /** Copies the directory at every moment at which a crash could find it. */
  async function moments(): Promise<{ copies: string[]; value: string }> {
    const copies: string[] = [];
    const copy = () => {
      const to = join(directory, "..", `${directory.split("/").at(-1)}-copy-${copies.length}`);
      cpSync(directory, to, { recursive: true });
      copies.push(to);
    };
    const disk: Disk = {
      ...realDisk,
      open(path, isNew) {
        copy();
        const file = realDisk.open(path, isNew);
        copy();
        return file;
      },
    };
    const store = await open(disk, 5_000);
    const table = store.table("things");
    let latest = store.create(table, "a", object("a", "0"));
    store.create(table, "keeps", object("keeps"));
    for (let i = 1; i <= 60; i++) {
      latest = store.update(table, "a", object("a", "z".repeat(200) + i), latest);
      // Another is under way when the log is replaced.
      const settled = store.settled();
      if (i === 30) store.create(table, "b", object("b"));
      await settled;
    }
    await store.close();
    copy();
    return { copies, value: "z".repeat(200) };
  }

  it("is whole at every moment of it", async () => {
    const { copies, value } = await moments();
    expect(copies.length).toBeGreaterThan(6);
    let before = -1;
    for (const at of copies.slice(2)) {
      const found = contents(at);
      expect(found.get("keeps")).toBe("x");
      const number = Number((found.get("a") ?? "").slice(value.length));
      expect(number).toBeGreaterThanOrEqual(before);
      before = number;
      rmSync(at, { recursive: true });
    }
    for (const at of copies) rmSync(at, { recursive: true, force: true });
    expect(before).toBe(60);
  });

  it("whose state cannot be written stays, and is read at the next start", async () => {
    const store = await open(undefined, 5_000);
    // A directory in the place of the file that would be written.
    for (let sequence = 2; sequence < 30; sequence++) mkdirSync(join(directory, `state-${sequence}.tmp`));
    const table = store.table("things");
    for (let i = 0; i < 60; i++) {
      store.create(table, `n${i}`, object(`n${i}`, "z".repeat(200)));
      await store.settled();
    }
    await store.close();
    expect(readdirSync(directory).filter((file) => /^log-/.test(file)).length).toBeGreaterThan(2);
    for (let sequence = 2; sequence < 30; sequence++)
      rmSync(join(directory, `state-${sequence}.tmp`), { recursive: true, force: true });
    expect(contents().size).toBe(60);
  });

  it("goes on when the next one's name cannot be made durable", async () => {
    let fails = 0;
    const store = await open(
      {
        ...realDisk,
        syncDirectory(path) {
          if (fails-- > 0) throw new Error("EMFILE: too many open files");
          realDisk.syncDirectory(path);
        },
      },
      5_000,
    );
    fails = 2;
    const table = store.table("things");
    for (let i = 0; i < 60; i++) {
      store.create(table, `n${i}`, object(`n${i}`, "z".repeat(200)));
      await store.settled();
    }
    await store.close();
    expect(readdirSync(directory).some((file) => /^state-/.test(file))).toBe(true);
    expect(contents().size).toBe(60);
  });

  /** Three logs that no state replaced: the disk had no room for it. */
  async function threeLogs(): Promise<void> {
    const store = await open(undefined, 2_000);
    for (let sequence = 2; sequence < 9; sequence++) mkdirSync(join(directory, `state-${sequence}.tmp`));
    for (let i = 0; !readdirSync(directory).includes("log-4"); i++) {
      store.create(store.table("things"), `n${i}`, object(`n${i}`, "z".repeat(200)));
      await store.settled();
    }
    await store.close();
    for (let sequence = 2; sequence < 9; sequence++)
      rmSync(join(directory, `state-${sequence}.tmp`), { recursive: true, force: true });
  }

  it("is refused when its end is damaged and another follows", async () => {
    await threeLogs();
    const bytes = readFileSync(join(directory, "log-2"));
    const last = bytes.lastIndexOf('{"r"');
    bytes[last + 2] = 0;
    writeFileSync(join(directory, "log-2"), bytes);
    expect(() => readDirectory(directory)).toThrow(/log-3 goes on at write \d+, and the last one before/);
  });

  it("is refused when one between is missing", async () => {
    await threeLogs();
    rmSync(join(directory, "log-2"));
    expect(() => readDirectory(directory)).toThrow(/log-3 goes on/);
  });

  it("is refused without the state before it, and so is a state without its log", async () => {
    const store = await open(undefined, 2_000);
    for (let i = 0; i < 30; i++) {
      store.create(store.table("things"), `n${i}`, object(`n${i}`, "z".repeat(200)));
      await store.settled();
    }
    await store.close();
    const file = (kind: string) =>
      readdirSync(directory).find((name) => name.startsWith(`${kind}-`)) as string;
    const whole = `${directory}-whole`;
    cpSync(directory, whole, { recursive: true });
    rmSync(join(directory, file("state")));
    expect(() => readDirectory(directory)).toThrow(/restore/);
    rmSync(directory, { recursive: true });
    cpSync(whole, directory, { recursive: true });
    rmSync(whole, { recursive: true });
    rmSync(join(directory, file("log")));
    expect(() => readDirectory(directory)).toThrow(/log-\d+ is missing/);
  });
});

describe("a store that closes", () => {
  it("keeps what is committed meanwhile, and takes nothing afterwards", async () => {
    const reserving = Promise.withResolvers<void>();
    const store = await open({
      ...realDisk,
      async reserve(path, position, length) {
        await reserving.promise;
        await realDisk.reserve(path, position, length);
      },
    });
    const table = store.table("things");
    store.create(table, "a", object("a"));
    await store.settled();
    const closing = store.close();
    store.create(table, "b", object("b"));
    const settled = store.settled();
    reserving.resolve();
    await Promise.all([closing, settled]);
    expect([...contents().keys()]).toEqual(["a", "b"]);
    expect(() => store.create(table, "c", object("c"))).toThrow(/is closed/);
  });
});

describe("a directory of a later release", () => {
  it("is refused and not touched", async () => {
    const store = await open();
    store.create(store.table("things"), "a", object("a"));
    await store.close();
    expect(readFileSync(join(directory, "format"), "utf8")).toBe("1\n");
    writeFileSync(join(directory, "format"), "2\n");
    await expect(open()).rejects.toMatchObject({ code: "TooNew" });
    // One from before the format was written down is the first.
    rmSync(join(directory, "format"));
    expect(contents().size).toBe(1);
  });
});

describe("a disk", () => {
  /** Fails every write while `error` is set. */
  class FailingDisk implements Disk {
    error: NodeJS.ErrnoException | undefined;
    open = realDisk.open;
    truncate = realDisk.truncate;
    syncDirectory = realDisk.syncDirectory;

    async write(file: number, bytes: Uint8Array, position: number): Promise<void> {
      // A part gets there all the same.
      if (this.error) await realDisk.write(file, bytes.subarray(0, bytes.length / 2), position);
      if (this.error) throw this.error;
      await realDisk.write(file, bytes, position);
    }

    async reserve(path: string, position: number, length: number): Promise<void> {
      if (this.error) throw this.error;
      await realDisk.reserve(path, position, length);
    }
  }

  const failure = (code: string) => Object.assign(new Error(`${code}: the disk says no`), { code });

  it("that is full refuses writes, takes them back, goes on reading, and writes again when it has room", async () => {
    const disk = new FailingDisk();
    const store = await open(disk);
    const table = store.table("things");
    const a = store.create(table, "a", object("a", "1"));
    store.create(table, "gone", object("gone"));
    await store.settled();
    const { revision } = store;
    const seen: string[] = [];
    table.subscribe(({ key }) => seen.push(key));

    disk.error = failure("ENOSPC");
    store.update(table, "a", object("a", "2"), a);
    store.create(table, "b", object("b"));
    store.delete(table, "gone", table.get("gone") as ApiObject);
    await expect(store.settled()).rejects.toMatchObject({ status: { code: 500, reason: "InternalError" } });
    expect(store.settled()).toBeUndefined();
    expect((await store.problem())?.message).toMatch(/ENOSPC/);
    expect(table.get("a")).toBe(a);
    expect(table.range("").map(({ metadata }) => metadata.name)).toEqual(["a", "gone"]);
    expect(store.revision).toBe(revision);
    expect(table.eventsAfter(revision)).toEqual([]);
    expect(seen).toEqual([]);

    disk.error = undefined;
    expect(await store.problem()).toBeUndefined();
    store.create(table, "c", object("c"));
    await store.settled();
    expect(seen).toEqual(["c"]);
    await store.close();
    expect([...contents()]).toEqual([
      ["a", "1"],
      ["gone", "x"],
      ["c", "x"],
    ]);
  });

  it("that fails otherwise is not trusted again, and what was acknowledged stays readable", async () => {
    const disk = new FailingDisk();
    const store = await open(disk);
    const table = store.table("things");
    store.create(table, "a", object("a"));
    await store.settled();
    disk.error = failure("EIO");
    store.create(table, "b", object("b"));
    await expect(store.settled()).rejects.toThrow(/EIO/);
    disk.error = undefined;
    expect((await store.problem())?.message).toMatch(/EIO/);
    expect(() => store.create(table, "c", object("c"))).toThrow(/keeps no more writes/);
    expect(table.range("")).toHaveLength(1);
    await store.close();
    expect([...contents().keys()]).toEqual(["a"]);
  });
});

const canMount = spawnSync("unshare", ["-Urm", "true"]).status === 0;

describe.skipIf(!canMount)("a server on a disk of three megabytes", () => {
  const main = join(import.meta.dirname, "../src/main.ts");

  async function start(): Promise<{ socketPath: string } & AsyncDisposable> {
    const small = join(directory, "small");
    mkdirSync(small);
    const socketPath = join(directory, "s");
    const tokenFile = join(directory, "t");
    writeFileSync(tokenFile, "t");
    const child = spawn(
      "unshare",
      [
        "-Urm",
        "sh",
        "-c",
        'mount -t tmpfs -o size=3m none "$1" && shift && exec "$@"',
        "sh",
        small,
        ...[process.execPath, "--conditions=keelson-source", "--no-warnings", main],
        ...["--port", "0", "--token-file", tokenFile, "--data-dir", small, "--socket", socketPath],
        ...["--kubeconfig", join(directory, "kubeconfig")],
      ],
      { stdio: ["ignore", "pipe", "ignore"] },
    );
    await new Promise<void>((resolve, reject) => {
      child.stdout.once("data", () => resolve());
      child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    return {
      socketPath,
      async [Symbol.asyncDispose]() {
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGKILL");
        await ended;
      },
    };
  }

  /** What is read of a config map, of a list of them, or of a Status. */
  interface Answer {
    readonly kind: string;
    readonly message?: string;
    readonly metadata: { readonly name: string };
    readonly data: { readonly text: string };
    readonly items: readonly Answer[];
  }

  function ask(socketPath: string, method: string, path: string, body?: unknown): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: "Bearer t", "content-type": "application/json" };
      const outgoing = request({ socketPath, method, path, headers }, (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve(JSON.parse(text)));
      });
      outgoing.on("error", reject);
      outgoing.end(body && JSON.stringify(body));
    });
  }

  function health(socketPath: string, path: string): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      request({ socketPath, path: `/${path}`, headers: { authorization: "Bearer t" } }, (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      })
        .on("error", reject)
        .end();
    });
  }

  it("refuses what it cannot keep with a Status, is not ready for writes, and shows what it kept", async () => {
    await using server = await start();
    const maps = "/api/v1/namespaces/default/configmaps";
    const names: string[] = [];
    let refused: Answer | undefined;
    for (let i = 0; i < 60 && !refused; i++) {
      const object = { metadata: { name: `m${i}` }, data: { text: "x".repeat(100_000) } };
      const answer = await ask(server.socketPath, "POST", maps, object);
      if (answer.kind === "Status") refused = answer;
      else names.push(answer.metadata.name);
    }
    expect(refused).toMatchObject({ kind: "Status", reason: "InternalError", code: 500 });
    expect(refused?.message).toMatch(/no space/);
    expect(names.length).toBeGreaterThan(5);
    const list = await ask(server.socketPath, "GET", maps);
    expect(list.items.map((item) => item.metadata.name).sort()).toEqual([...names].sort());
    const small = await ask(server.socketPath, "GET", `${maps}/${names[0]}`);
    expect(small.data.text).toHaveLength(100_000);
    expect(await health(server.socketPath, "livez")).toMatchObject({ status: 200 });
    expect(await health(server.socketPath, "readyz")).toEqual({
      status: 500,
      text: expect.stringMatching(
        /^\[\+\]ping ok\n(?:.*\n)*\[-\]etcd failed: reason withheld\n(?:.*\n)*readyz check failed\n$/,
      ),
    });
    expect(await health(server.socketPath, "readyz/etcd")).toMatchObject({ status: 500 });
    expect(await health(server.socketPath, "readyz?exclude=etcd")).toMatchObject({ status: 200 });
  }, 60_000);
});
