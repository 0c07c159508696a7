import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { BackupError } from "../errors.ts";
import { MemoryStore } from "../testing/memory-store.ts";
import { BackupArchive } from "./archive.ts";
import { backupName, manifestFields } from "./manifest.ts";
import { type PutOptions, readAll } from "./store/store.ts";

const manifest = z.object({ ...manifestFields, version: z.string() });
const name = backupName({ namespace: "default", database: "prod", name: "nightly", uid: "u1" });

function archiveOf(store: MemoryStore) {
  const archive = new BackupArchive(store, { extension: ".dump", manifest });
  let opened = 0;
  async function* content(): AsyncIterable<Uint8Array> {
    yield Buffer.from("hello ");
    yield Buffer.from("world");
  }
  const publish = (backupUid = "u1") =>
    archive.publish(name, {
      backupUid,
      source: async () => {
        opened++;
        return {
          content: content(),
          describe: (digest) => ({
            format: 1 as const,
            backupUid,
            takenAt: "2026-01-01T00:00:00Z",
            version: "7",
            ...digest,
          }),
        };
      },
    });
  return { archive, publish, opened: () => opened };
}

describe("an archive", () => {
  it("publishes the content and then the manifest, with length and checksum", async () => {
    const store = new MemoryStore();
    const { archive, publish } = archiveOf(store);
    const written = await publish();
    expect(written).toMatchObject({
      sizeBytes: 11,
      sha256: "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
    });
    expect([...store.objects.keys()]).toEqual([
      "default/prod/nightly-u1.dump",
      "default/prod/nightly-u1.json",
    ]);
    expect(await archive.read(name)).toEqual(written);
    expect((await readAll(archive.content(name, written))).toString()).toBe("hello world");
  });

  it("does not open the source again when an earlier attempt was complete", async () => {
    const { publish, opened } = archiveOf(new MemoryStore());
    expect(await publish()).toEqual(await publish());
    expect(opened()).toBe(1);
  });

  it("replaces what an unfinished attempt left", async () => {
    const store = new MemoryStore();
    const { archive, publish } = archiveOf(store);
    store.objects.set(archive.contentKey(name), Buffer.from("half"));
    expect(await archive.find(name)).toBeUndefined();
    expect((await publish()).sizeBytes).toBe(11);
  });

  it("neither overwrites nor removes what another backup wrote", async () => {
    const store = new MemoryStore();
    const { archive, publish } = archiveOf(store);
    await publish("u1");
    const before = new Map(store.objects);
    await expect(publish("u2")).rejects.toMatchObject({ code: "NotOurs" });
    await expect(archive.remove(name, "u2")).rejects.toMatchObject({ code: "NotOurs" });
    expect(store.objects).toEqual(before);
  });

  it("accepts its own manifest when only the answer to writing it was lost", async () => {
    class LosingStore extends MemoryStore {
      override async put(key: string, content: AsyncIterable<Uint8Array>, options?: PutOptions) {
        await super.put(key, content, options);
        if (options?.ifAbsent) throw new BackupError("NotOurs", `${key} exists already`);
      }
    }
    expect((await archiveOf(new LosingStore()).publish()).version).toBe("7");
  });

  it("fetches into a file, and refuses bytes that are not those of the manifest", async () => {
    const directory = await mkdtemp(join(tmpdir(), "keelson-archive-"));
    try {
      const store = new MemoryStore();
      const { archive, publish } = archiveOf(store);
      await publish();
      const file = join(directory, "a/dump");
      await archive.fetch(name, { file });
      expect(await readFile(file, "utf8")).toBe("hello world");
      store.objects.set(archive.contentKey(name), Buffer.from("hello xorld"));
      await expect(archive.fetch(name, { file })).rejects.toMatchObject({ code: "StoredDamaged" });
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("fetches nothing that the check refuses", async () => {
    const { archive, publish } = archiveOf(new MemoryStore());
    await publish();
    const check = () => {
      throw new BackupError("VersionTooNew", "7 cannot be read");
    };
    await expect(archive.fetch(name, { file: "/nowhere/dump", check })).rejects.toMatchObject({
      code: "VersionTooNew",
    });
  });

  it("reports a manifest that cannot be read, and removes it", async () => {
    const store = new MemoryStore();
    const { archive } = archiveOf(store);
    for (const text of ["{", '{"format":2}']) {
      store.objects.set(archive.manifestKey(name), Buffer.from(text));
      await expect(archive.read(name)).rejects.toMatchObject({ code: "StoredDamaged" });
    }
    await archive.remove(name, "u1");
    expect(store.objects.size).toBe(0);
  });

  it("keeps everything when it cannot tell whose backup it is", async () => {
    class DownStore extends MemoryStore {
      override async head(): Promise<never> {
        throw new BackupError("StoreUnavailable", "no answer");
      }
    }
    const store = new DownStore();
    store.objects.set(`${name}.json`, Buffer.from("{}"));
    await expect(archiveOf(store).archive.remove(name, "u1")).rejects.toMatchObject({
      code: "StoreUnavailable",
    });
    expect(store.objects.size).toBe(1);
  });
});
