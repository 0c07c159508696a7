/** Small edits of a root file system that is being made. */
import { existsSync } from "node:fs";
import { chmod, chown, lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import { ImageError } from "./errors.ts";
import { locate } from "./root-path.ts";

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home?: string;
}

/** Links inside the root are followed as a container would: an absolute one never leads to the machine's files. */
export class RootDirectory {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async write(path: string, content: string, mode = 0o644): Promise<void> {
    const target = await this.#entry(path);
    await mkdir(dirname(target), { recursive: true });
    // A hard link into another image must not be written through.
    await rm(target, { force: true });
    await writeFile(target, content);
    await chmod(target, mode);
  }

  async directory(path: string, mode = 0o755, owner?: Account): Promise<void> {
    const target = await this.#follow(path);
    await mkdir(target, { recursive: true });
    await chmod(target, mode);
    if (owner !== undefined && process.getuid?.() === 0) await chown(target, owner.uid, owner.gid);
  }

  /** Makes `path` a symbolic link, replacing a file but never a directory. */
  async link(path: string, to: string): Promise<void> {
    const target = await this.#entry(path);
    const present = await lstat(target).catch(() => undefined);
    if (present?.isDirectory()) return;
    await mkdir(dirname(target), { recursive: true });
    await rm(target, { force: true });
    await symlink(to, target);
  }

  /** Removes the files whose path from the root matches. */
  async remove(pattern: RegExp): Promise<void> {
    for (const path of await readdir(this.path, { recursive: true })) {
      if (pattern.test(path)) await rm(join(this.path, path), { recursive: true, force: true });
    }
  }

  has(path: string): boolean {
    return existsSync(join(this.path, path));
  }

  /** Adds users and groups after those that the packages bring. */
  async accounts(accounts: readonly Account[]): Promise<void> {
    const append = async (path: string, lines: string[]) => {
      const present = await readFile(join(this.path, path), "utf8").catch(() => "");
      const names = new Set(present.split("\n").map((line) => line.split(":")[0]));
      const added = lines.filter((line) => !names.has(line.split(":")[0]));
      await this.write(path, `${present}${added.map((line) => `${line}\n`).join("")}`);
    };
    await append(
      "etc/passwd",
      accounts.map(
        ({ name, uid, gid, home }) => `${name}:x:${uid}:${gid}::${home ?? "/nonexistent"}:/usr/sbin/nologin`,
      ),
    );
    await append(
      "etc/group",
      accounts.map(({ name, gid }) => `${name}:x:${gid}:`),
    );
  }

  /** Where a path really is, its last part followed too. */
  async #follow(path: string): Promise<string> {
    const found = await locate({ rootfs: this.path, mounts: [] }, posix.join("/", path));
    if (found === undefined) throw new ImageError("BadArchive", `${path} leads in circles`);
    return found;
  }

  /** The same, but the last part stays what it is: it is about to be replaced. */
  async #entry(path: string): Promise<string> {
    return join(await this.#follow(posix.dirname(posix.join("/", path))), basename(path));
  }
}
