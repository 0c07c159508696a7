import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DirectoryStore, S3Store, type Store } from "@keelson/kit/store";
import { s3Server } from "@keelson/kit/testing";
import { describe, expect, test } from "vitest";
import { archiveFolder, fetch, prune, push } from "./archive.ts";

async function scratch(kind: "directory" | "bucket") {
  await using stack = new AsyncDisposableStack();
  const path = await mkdtemp(join(tmpdir(), "keelson-archive-"));
  stack.defer(async () => await rm(path, { recursive: true }));
  const store = kind === "directory" ? new DirectoryStore(join(path, "store")) : await bucket(stack);
  const segment = async (text: string) => {
    const source = join(path, "segment");
    await writeFile(source, text);
    return source;
  };
  const read = async (systemId: string, name: string) => {
    const target = join(path, `fetched-${name}`);
    return (await fetch(store, { systemId, name, target })) ? await readFile(target, "utf8") : undefined;
  };
  const moved = stack.move();
  return { store, segment, read, [Symbol.asyncDispose]: async () => await moved.disposeAsync() };
}

async function bucket(stack: AsyncDisposableStack): Promise<Store> {
  const server = stack.use(await s3Server());
  const { endpoint, bucket: name, credentials } = server;
  return new S3Store({ endpoint, bucket: name, credentials, region: "us-east-1", prefix: "prod/orders" });
}

describe.each(["directory", "bucket"] as const)("an archive in a %s", (kind) => {
  test("a later primary's segment wins, and nobody else's is overwritten", async () => {
    await using s = await scratch(kind);
    const name = "000000010000000000000007";
    await push(s.store, { folder: archiveFolder("1", 2), source: await s.segment("old"), name });
    await push(s.store, { folder: archiveFolder("1", 10), source: await s.segment("new"), name });
    expect(await s.read("1", name)).toBe("new");
    await push(s.store, { folder: archiveFolder("1", 10), source: await s.segment("new"), name });
    const other = await s.segment("other");
    await expect(push(s.store, { folder: archiveFolder("1", 10), source: other, name })).rejects.toThrow(
      "different",
    );
  });

  test("a backup from before a major upgrade gets no segment from after it", async () => {
    await using s = await scratch(kind);
    const name = "000000010000000000000007";
    await push(s.store, { folder: archiveFolder("2", 11), source: await s.segment("after"), name });
    expect(await s.read("1", name)).toBeUndefined();
    expect(await s.read("2", name)).toBe("after");
  });

  test("log from before the oldest backup goes, on every timeline; histories stay", async () => {
    await using s = await scratch(kind);
    const folder = archiveFolder("1", 1);
    const names = [
      "000000010000000000000006",
      "000000020000000000000006",
      "000000010000000000000007",
      "00000002.history",
    ];
    for (const name of names) await push(s.store, { folder, source: await s.segment(name), name });
    await prune(s.store, "1", "0000000000000007");
    const left = await Promise.all(names.map(async (name) => (await s.read("1", name)) !== undefined));
    expect(left).toEqual([false, false, true, true]);
  });
});
