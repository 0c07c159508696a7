import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DirectoryStore, S3Store } from "@keelson/kit/store";
import { s3Server } from "@keelson/kit/testing";
import { expect, test } from "vitest";
import { BaseBackups } from "./base-backups.ts";

const manifest = {
  ...{ name: "first", uid: "1", systemId: "7", timeline: 1, version: "15" },
  ...{ startedAt: "", finishedAt: "", sizeBytes: 0 },
};

test.each(["directory", "bucket"] as const)(
  "a data directory comes back from a %s as it was, with its empty folders, until it is removed",
  async (kind) => {
    await using stack = new AsyncDisposableStack();
    const path = await mkdtemp(join(tmpdir(), "keelson-base-"));
    stack.defer(async () => await rm(path, { recursive: true }));
    const server = stack.use(await s3Server());
    const { endpoint, bucket, credentials } = server;
    const backups = new BaseBackups(
      kind === "directory"
        ? new DirectoryStore(join(path, "store"))
        : new S3Store({ endpoint, bucket, credentials, region: "us-east-1" }),
    );
    const draft = backups.draft("first", path);
    await mkdir(join(draft, "base/1"), { recursive: true });
    await mkdir(join(draft, "pg_notify"));
    await writeFile(join(draft, "base/1/16384"), "rows");
    await writeFile(
      join(draft, "backup_label"),
      "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\n",
    );
    await writeFile(join(draft, "PG_VERSION"), "");
    const bytes = await backups.keep("first", draft);
    expect(bytes).toBeGreaterThan(4);
    expect(await backups.manifests()).toEqual([]);
    await backups.seal(manifest);
    expect(await backups.manifests()).toEqual([manifest]);
    expect(await backups.firstPosition("first")).toBe("0000000000000002");
    const target = join(path, "restored");
    await backups.copy("first", target);
    expect((await readdir(target)).sort()).toEqual(["PG_VERSION", "backup_label", "base", "pg_notify"]);
    expect(await readFile(join(target, "base/1/16384"), "utf8")).toBe("rows");
    if (kind === "bucket") expect((await stat(join(target, "base/1/16384"))).mode & 0o777).toBe(0o600);
    await backups.remove("first");
    expect(await backups.manifest("first")).toBeUndefined();
    if (kind === "bucket") expect([...server.objects.keys()]).toEqual([]);
    await expect(backups.copy("first", join(path, "again"))).rejects.toThrow();
  },
);
