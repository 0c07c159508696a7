import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DirectoryStore, S3Store } from "@keelson/kit/store";
import { s3Server } from "@keelson/kit/testing";
import { describe, expect, test } from "vitest";
import { BaseBackups } from "./base-backups.ts";

const manifest = {
  ...{ name: "first", uid: "1", systemId: "7", timeline: 1, version: "15" },
  ...{ startedAt: "", finishedAt: "", sizeBytes: 0, proof: { at: "", databases: 3 } },
};

describe.each(["directory", "bucket"] as const)("in a %s", (kind) => {
  test("a data directory comes back as it was, with its empty folders, until it is removed", async () => {
    await using place = await somewhere(kind);
    const { backups, path, server } = place;
    const folder = backups.folder("first", "orders-0");
    const draft = backups.draft(folder, path);
    await mkdir(join(draft, "base/1"), { recursive: true });
    await mkdir(join(draft, "pg_notify"));
    await writeFile(join(draft, "base/1/16384"), "rows");
    await writeFile(join(draft, "backup_label"), label);
    await writeFile(join(draft, "PG_VERSION"), "");
    const bytes = await backups.keep(folder, draft);
    expect(bytes).toBeGreaterThan(4);
    expect(await backups.manifests()).toEqual([]);
    const sealed = await backups.seal({ ...manifest, folder });
    expect(await backups.manifests()).toEqual([sealed]);
    expect(await backups.firstPosition(sealed)).toBe("0000000000000002");
    const target = join(path, "restored");
    await backups.copy("first", target);
    expect((await readdir(target)).sort()).toEqual(["PG_VERSION", "backup_label", "base", "pg_notify"]);
    expect(await readFile(join(target, "base/1/16384"), "utf8")).toBe("rows");
    if (kind === "bucket") expect((await stat(join(target, "base/1/16384"))).mode & 0o777).toBe(0o600);
    await backups.remove("first");
    expect(await backups.manifest("first")).toBeUndefined();
    if (kind === "bucket") expect([...server.objects.keys()]).toEqual([]);
    await expect(backups.copy("first", join(path, "again"))).rejects.toThrow("the store has no backup first");
  });

  test("a second instance that takes the same backup leaves alone what the first one has proven", async () => {
    await using place = await somewhere(kind);
    const { backups, path, server } = place;
    const [first, second] = [backups.folder("first", "orders-0"), backups.folder("first", "orders-1")];
    await kept(place, first, "by the first");
    expect(await backups.seal({ ...manifest, folder: first })).toMatchObject({ folder: first });
    // It dies at some point of this.
    await mkdir(backups.draft(second, path), { recursive: true });
    await kept(place, second, "by the second");
    expect(await backups.seal({ ...manifest, folder: second })).toMatchObject({ folder: first });
    await backups.copy("first", join(path, "restored"));
    expect(await readFile(join(path, "restored/PG_VERSION"), "utf8")).toBe("by the first");
    // Another backup, whose name begins in the same way, is not touched by a removal.
    const other = backups.folder("first-2", "orders-0");
    await kept(place, other, "other");
    await backups.seal({ ...manifest, name: "first-2", folder: other });
    await backups.remove("first");
    expect((await backups.manifests()).map(({ name }) => name)).toEqual(["first-2"]);
    await backups.copy("first-2", join(path, "other"));
    if (kind === "bucket")
      expect([...server.objects.keys()].filter((key) => key.includes("first_"))).toEqual([]);
    else expect(await readdir(join(path, "store/base"))).toEqual(["first-2_orders-0"]);
  });

  test("a manifest whose files are gone is no backup, and may be replaced", async () => {
    await using place = await somewhere(kind);
    const { backups } = place;
    const [first, second] = [backups.folder("first", "orders-0"), backups.folder("first", "orders-1")];
    await kept(place, first, "by the first");
    await backups.seal({ ...manifest, folder: first });
    await backups.clear(first);
    expect(await backups.proven("first")).toBeUndefined();
    await kept(place, second, "by the second");
    expect(await backups.seal({ ...manifest, folder: second })).toMatchObject({ folder: second });
    expect(await backups.proven("first")).toMatchObject({ folder: second });
  });

  test("a backup of before instances had folders of their own is found where its name says", async () => {
    await using place = await somewhere(kind);
    const { backups, path } = place;
    await kept(place, "base/first", "of before");
    await backups.seal(manifest);
    await backups.copy("first", join(path, "restored"));
    expect(await readFile(join(path, "restored/PG_VERSION"), "utf8")).toBe("of before");
    expect(await backups.firstPosition(manifest)).toBe("0000000000000002");
    await backups.remove("first");
    await expect(
      backups.copyFolder("base/first", join(path, "again")).then(() => stat(join(path, "again/PG_VERSION"))),
    ).rejects.toThrow();
  });
});

const label = "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\n";

async function somewhere(kind: "directory" | "bucket") {
  const stack = new AsyncDisposableStack();
  const path = await mkdtemp(join(tmpdir(), "keelson-base-"));
  stack.defer(async () => await rm(path, { recursive: true }));
  const server = stack.use(await s3Server());
  const { endpoint, bucket, credentials } = server;
  const backups = new BaseBackups(
    kind === "directory"
      ? new DirectoryStore(join(path, "store"))
      : new S3Store({ endpoint, bucket, credentials, region: "us-east-1" }),
  );
  return { backups, path, server, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function kept(
  { backups, path }: Awaited<ReturnType<typeof somewhere>>,
  folder: string,
  version: string,
): Promise<void> {
  const draft = backups.draft(folder, path);
  await mkdir(draft, { recursive: true });
  await writeFile(join(draft, "backup_label"), label);
  await writeFile(join(draft, "PG_VERSION"), version);
  await backups.keep(folder, draft);
}
