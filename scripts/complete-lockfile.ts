/**
 * `npm run lock`: writes the lockfile and completes it. npm leaves out the optional packages of platforms that a
 * registry does not carry, and then refuses to install from that lockfile anywhere; each is added with its platform.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandLine } from "./command-line.ts";
import { root } from "./run.ts";

interface Entry {
  version?: string;
  cpu?: string[];
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

commandLine({
  command: "npm run lock",
  does: "Writes package-lock.json and completes it with the optional packages of all platforms.",
});
const systems = ["darwin", "linux", "win32", "android", "freebsd", "openharmony"];
const processors = ["arm64", "x64", "ia32", "arm", "ppc64", "s390x", "riscv64", "wasm32"];

execFileSync("npm", ["install", "--package-lock-only"], { cwd: root, stdio: "inherit" });
const path = join(root, "package-lock.json");
const lock = JSON.parse(readFileSync(path, "utf8")) as { packages: Record<string, Entry> };
for (const [owner, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (lock.packages[`node_modules/${name}`] || lock.packages[`${owner}/node_modules/${name}`]) continue;
    lock.packages[`node_modules/${name}`] = entryFor(name, version);
    console.log(`added ${name} ${version}`);
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(path, `${JSON.stringify(lock, undefined, 2)}\n`);

function entryFor(name: string, version: string): Entry {
  const words = name.split("/").at(-1)?.split("-") ?? [];
  const os = systems.find((system) => words.includes(system));
  const cpu = processors.find((processor) => words.includes(processor));
  const libc = words.some((word) => word.startsWith("musl"))
    ? "musl"
    : os === "linux" && words.includes("gnu")
      ? "glibc"
      : undefined;
  return {
    version: version.replace(/^[~^]/, ""),
    ...(cpu && { cpu: [cpu] }),
    dev: true,
    optional: true,
    ...(os && { os: [os] }),
    ...(libc && { libc: [libc] }),
  };
}
