/** One contract for every store, and what is special about each. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DirectoryStore } from "../src/backup/store/directory-store.ts";
import { S3Store } from "../src/backup/store/s3-store.ts";
import { readAll, type Store } from "../src/backup/store/store.ts";
import { MemoryStore } from "../src/testing/memory-store.ts";
import { type S3Server, s3Server } from "../src/testing/s3-server.ts";

const partBytes = 1_000;

async function* chunks(bytes: Uint8Array, size = 333): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function* failing(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield* chunks(bytes);
  throw new Error("the source broke off");
}

function sample(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) & 0xff));
}

function bucketOf(server: S3Server, prefix = "backups", idleMs = 2_000): S3Store {
  const { endpoint, bucket, credentials } = server;
  return new S3Store({
    endpoint,
    bucket,
    credentials,
    region: "us-east-1",
    prefix,
    partBytes,
    backoffMs: 1,
    idleMs,
  });
}

type Fixture = AsyncDisposable & { readonly store: Store };

const stores: Readonly<Record<string, () => Promise<Fixture>>> = {
  bucket: async () => {
    const server = await s3Server();
    return { store: bucketOf(server), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  },
  directory: async () => {
    const path = await mkdtemp(join(tmpdir(), "keelson-store-"));
    return {
      store: new DirectoryStore(path),
      [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
    };
  },
  memory: async () => ({ store: new MemoryStore(), [Symbol.asyncDispose]: async () => {} }),
};

describe.each(Object.entries(stores))("a %s as a store", (_, open) => {
  it.each([0, 1, 999, 1_000, 1_001, 2_000, 12_345])(
    "gives back %i bytes as they were put",
    async (length) => {
      await using fixture = await open();
      const { store } = fixture;
      await store.put("default/prod/one.db", chunks(sample(length)));
      expect(await readAll(store.get("default/prod/one.db"))).toEqual(sample(length));
      expect(await store.head("default/prod/one.db")).toEqual({
        key: "default/prod/one.db",
        sizeBytes: length,
      });
    },
  );

  it.each([100, 5_000])("shows nothing of %i bytes whose source failed", async (length) => {
    await using fixture = await open();
    const { store } = fixture;
    await expect(store.put("a/b.db", failing(sample(length)))).rejects.toThrow("broke off");
    expect(await store.head("a/b.db")).toBeUndefined();
    expect(await Array.fromAsync(store.list(""))).toEqual([]);
  });

  it("replaces an object, but not when ifAbsent is set", async () => {
    await using fixture = await open();
    const { store } = fixture;
    await store.put("k", chunks(sample(10)));
    await store.put("k", chunks(sample(20)));
    await expect(store.put("k", chunks(sample(30)), { ifAbsent: true })).rejects.toMatchObject({
      code: "NotOurs",
    });
    await expect(store.put("k", chunks(sample(3_000)), { ifAbsent: true })).rejects.toMatchObject({
      code: "NotOurs",
    });
    expect(await readAll(store.get("k"))).toEqual(sample(20));
    await store.put("other", chunks(sample(30)), { ifAbsent: true });
    expect(await store.head("other")).toMatchObject({ sizeBytes: 30 });
  });

  it("lists by prefix over several pages, without what was deleted", async () => {
    await using fixture = await open();
    const { store } = fixture;
    const keys = ["a/1.db", "a/2&3.db", "a/4.db", "a/5.db", "a/6.db", "b/1.db"];
    for (const key of keys) await store.put(key, chunks(sample(5)));
    await store.delete("a/4.db");
    await store.delete("a/absent.db");
    const found = (await Array.fromAsync(store.list("a/"))).map(({ key }) => key);
    expect(found).toEqual(["a/1.db", "a/2&3.db", "a/5.db", "a/6.db"]);
  });

  it("reports that an object does not exist", async () => {
    await using fixture = await open();
    await expect(readAll(fixture.store.get("absent"))).rejects.toMatchObject({ code: "NotFound" });
    expect(await fixture.store.head("absent")).toBeUndefined();
  });
});

describe("a bucket", () => {
  it("holds an object once, in spite of refused, cut and lost requests", async () => {
    await using server = await s3Server();
    const seen = new Set<string>();
    const kinds = ["refuse", "cut", "lose"] as const;
    // Every request fails three times, each time in another way.
    server.fault = (request) => {
      const stripped = request.replace(/upload-\d+/, "");
      const kind = kinds.find((each) => !seen.has(`${each} ${stripped}`));
      if (kind !== undefined) seen.add(`${kind} ${stripped}`);
      return kind;
    };
    const store = bucketOf(server);
    await store.put("k.db", chunks(sample(4_500)));
    server.fault = () => undefined;
    expect(await readAll(store.get("k.db"))).toEqual(sample(4_500));
    expect([...server.objects.keys()]).toEqual(["backups/k.db"]);
  });

  it("sends request after request over the same connections", async () => {
    await using server = await s3Server();
    const store = bucketOf(server);
    for (let i = 0; i < 20; i++) await store.put(`a/${i}`, chunks(sample(10)));
    expect(await readAll(store.get("a/7"))).toEqual(sample(10));
    expect(server.requests.length).toBeGreaterThan(20);
    // The next request may begin while the end of the last answer is still read.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  it("resumes a read where the connection broke", async () => {
    await using server = await s3Server();
    const store = bucketOf(server);
    await store.put("k.db", chunks(sample(200_000)));
    let left = 3;
    server.fault = () => (left-- > 0 ? "truncate" : undefined);
    expect(await readAll(store.get("k.db"))).toEqual(sample(200_000));
  });

  it("does not mix two objects when one replaces the other while it is read", async () => {
    await using server = await s3Server();
    const store = bucketOf(server);
    await store.put("k.db", chunks(sample(200_000)));
    let first = true;
    server.fault = () => {
      if (!first) server.objects.set("backups/k.db", Buffer.alloc(200_000, 1));
      const fault = first ? ("truncate" as const) : undefined;
      first = false;
      return fault;
    };
    await expect(readAll(store.get("k.db"))).rejects.toMatchObject({ code: "StoredDamaged" });
  });

  it("keeps no parts of an upload that failed, nor of one whose writer died", async () => {
    await using server = await s3Server();
    const store = bucketOf(server);
    await expect(store.put("k.db", failing(sample(5_000)))).rejects.toThrow("broke off");
    expect(server.uploads.size).toBe(0);
    server.uploads.set("left-behind", { key: "backups/k.db", parts: new Map() });
    server.uploads.set("of-another", { key: "backups/k.db.json", parts: new Map() });
    await store.delete("k.db");
    expect([...server.uploads.keys()]).toEqual(["of-another"]);
  });

  it("reports the message of the service when the credentials are wrong", async () => {
    await using server = await s3Server();
    const { endpoint, bucket } = server;
    const credentials = { accessKeyId: "test-key", secretAccessKey: "wrong" };
    const store = new S3Store({ endpoint, bucket, credentials, region: "us-east-1", backoffMs: 1 });
    await expect(store.put("k", chunks(sample(1)))).rejects.toMatchObject({
      code: "StoreRefused",
      message: expect.stringContaining("SignatureDoesNotMatch"),
    });
    expect(server.requests).toHaveLength(1);
  });
});

describe("a directory", () => {
  it("refuses keys that lead out of it", async () => {
    await expect(new DirectoryStore("/srv/store").head("../passwd")).rejects.toMatchObject({
      code: "BadConfiguration",
    });
  });

  it("has no half-written file after a failure", async () => {
    const path = await mkdtemp(join(tmpdir(), "keelson-store-"));
    await expect(new DirectoryStore(path).put("k.db", failing(sample(100)))).rejects.toThrow("broke off");
    expect(await readdir(path)).toEqual([]);
    await rm(path, { recursive: true });
  });
});

describe("a bucket that is slow or full", () => {
  it("retries a request without an answer", async () => {
    await using server = await s3Server();
    let stalls = 2;
    server.fault = () => (stalls-- > 0 ? "stall" : undefined);
    await bucketOf(server, "backups", 50).put("k", chunks(sample(10)));
    expect(server.requests.length).toBe(3);
  });

  it("aborts an upload that failed, and reports the message of the service", async () => {
    await using server = await s3Server();
    server.fault = (request) => (request.includes("partNumber=3") ? "full" : undefined);
    await expect(bucketOf(server).put("k", chunks(sample(5_000)))).rejects.toMatchObject({
      message: expect.stringContaining("QuotaExceeded (the bucket is full)"),
    });
    expect(server.uploads.size).toBe(0);
    expect(server.objects.size).toBe(0);
  });
});
