/** The ground that images we make stand on: a small Debian, or a bare skeleton. */
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "@keelson/machine";
import { type DebianOptions, fetchPackages, unpackPackages } from "./debian.ts";
import { basePackages, scriptDependencies } from "./recipes.ts";
import { RootDirectory } from "./root-directory.ts";

const mergedDirectories = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/** Directories and files every container expects, and the merged `/usr` that packages are unpacked through. */
export async function makeSkeleton(path: string): Promise<RootDirectory> {
  const root = new RootDirectory(path);
  for (const name of mergedDirectories) {
    await mkdir(join(path, "usr", name), { recursive: true });
    await symlink(`usr/${name}`, join(path, name));
  }
  for (const name of [
    "dev",
    "etc",
    "home",
    "proc",
    "run",
    "sys",
    "usr/local/bin",
    "var/lib",
    "var/log",
    "mnt",
  ]) {
    await root.directory(name);
  }
  await root.directory("root", 0o700);
  await root.directory("tmp", 0o1777);
  await root.directory("var/tmp", 0o1777);
  // Relative: a program that unpacks into this root from outside stays in it.
  await root.link("var/run", "../run");
  await root.link("var/lock", "../run/lock");
  await root.write(
    "etc/passwd",
    "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
  );
  await root.write("etc/group", "root:x:0:\nnogroup:x:65534:\n");
  await root.write(
    "etc/nsswitch.conf",
    "passwd: files\ngroup: files\nhosts: files dns\nnetworks: files\nservices: files\nprotocols: files\n",
  );
  return root;
}

/** Fills `path` with the small Debian and returns the packages it holds. */
export async function makeDebianBase(path: string, options: DebianOptions): Promise<string[]> {
  const root = await makeSkeleton(path);
  const packages = await fetchPackages(basePackages, {
    ...options,
    installed: "nothing",
    without: scriptDependencies,
  });
  options.onProgress?.(`unpacking the base system (${packages.length} packages)`);
  await unpackPackages(packages, path);
  for (const name of ["passwd", "group"]) {
    const master = await readFile(join(path, `usr/share/base-passwd/${name}.master`), "utf8");
    // The master says "*" where a password file says "x"; either forbids a login.
    await root.write(`etc/${name}`, master);
  }
  if (!root.has("usr/bin/sh")) await root.link("usr/bin/sh", "dash");
  await root.link("usr/bin/awk", "mawk");
  return packages.map(({ name }) => name);
}

/** Puts busybox's applets beside it. */
export async function linkApplets(root: RootDirectory): Promise<void> {
  const busybox = ["usr/bin/busybox", "bin/busybox"].find((path) => root.has(path));
  if (busybox === undefined) return;
  const listed = await runCommand(join(root.path, busybox), ["--list"]);
  for (const name of listed.stdout.split("\n").filter(Boolean)) {
    if (name !== "busybox" && !root.has(`bin/${name}`)) await root.link(`usr/bin/${name}`, "/bin/busybox");
  }
}
