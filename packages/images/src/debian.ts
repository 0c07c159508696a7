/** Debian packages without root and without installing: downloaded by apt, unpacked into a directory. */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import {
  cacheDirectory,
  type Environment,
  pipeCommands,
  privateCache,
  runCommand,
  withLock,
} from "@keelson/machine";
import { ImageError } from "./errors.ts";

export interface DebianPackage {
  readonly name: string;
  /** The full Debian version, with epoch and revision. */
  readonly version: string;
  readonly file: string;
}

/** A release of Debian whose packages are used beside those of the machine's own release. */
export type DebianRelease = "trixie";

export interface DebianOptions {
  readonly env?: Environment;
  /** Default: the release of this machine, with the sources it has. */
  readonly release?: DebianRelease | undefined;
  readonly onProgress?: (sentence: string) => void;
}

export interface ClosureOptions extends DebianOptions {
  /**
   * `machine` leaves out what is installed here already (for programs that run beside the machine's own
   * libraries); `nothing` takes every dependency (for root file systems).
   */
  readonly installed: "machine" | "nothing";
  /** Packages that count as installed although they are not: dependencies of maintainer scripts we never run. */
  readonly without?: readonly string[];
}

const listsMaxAgeMs = 24 * 3_600_000;

/** True where apt-get and dpkg-deb exist. */
export function hasApt(env: Environment = process.env): boolean {
  return findOnPath("apt-get", env) !== undefined && findOnPath("dpkg-deb", env) !== undefined;
}

/** Downloads the packages with their dependencies and returns all of them. */
export async function fetchPackages(
  names: readonly string[],
  options: ClosureOptions,
): Promise<DebianPackage[]> {
  const env = options.env ?? process.env;
  if (!hasApt(env)) {
    throw new ImageError(
      "PackageUnavailable",
      `this machine has no apt-get to fetch ${names.join(", ")} with`,
    );
  }
  const home = aptHome(options);
  privateCache(env);
  await mkdir(join(home, "archives", "partial"), { recursive: true });
  return await withLock(join(home, "apt.lock"), async () => {
    const status = await statusFile(home, options);
    let failure = "";
    for (const lists of ["system", "own", "fresh"] as const) {
      const where = await listOptions(home, lists, options);
      if (where === undefined) continue;
      const apt = (...rest: string[]) =>
        runCommand(
          "apt-get",
          [
            ...["install", "-y", "-qq", "--no-install-recommends"],
            ...["-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root"],
            ...["-o", `Dir::State::status=${status}`, "-o", `Dir::Cache=${home}`],
            ...["-o", `Dir::Cache::archives=${join(home, "archives")}`, ...where],
            ...rest,
            ...names,
          ],
          { env },
        );
      const plan = await apt("--simulate");
      if (plan.code !== 0) {
        failure = plan.stderr;
        continue;
      }
      const packages = parseSimulation(plan.stdout, join(home, "archives"));
      const digests = await promisedDigests(
        packages,
        [...["-o", `Dir::State::status=${status}`, "-o", `Dir::Cache=${home}`, ...where]],
        env,
      );
      const missing = await unusable(packages, digests);
      if (missing.length === 0) return packages;
      const subject =
        missing.length > 3 ? `${missing.length} packages` : missing.map(({ name }) => name).join(", ");
      options.onProgress?.(`downloading ${subject} for ${names.at(-1)}`);
      const download = await apt("--download-only");
      const [wrong] = download.code === 0 ? await unusable(packages, digests) : [];
      if (download.code === 0 && wrong === undefined) return packages;
      failure = wrong === undefined ? download.stderr : `${wrong.name} is not what the package lists promise`;
    }
    throw new ImageError(
      "PackageUnavailable",
      `apt-get cannot provide ${names.join(", ")}: ${lastLine(failure)}; check the machine's package sources and network`,
    );
  });
}

/** What the signed package lists say of each package: `name=version` → SHA-256. */
async function promisedDigests(
  packages: readonly DebianPackage[],
  options: readonly string[],
  env: Environment,
): Promise<ReadonlyMap<string, string>> {
  if (packages.length === 0) return new Map();
  const wanted = packages.map(({ name, version }) => `${name}=${version}`);
  return parseDigests((await runCommand("apt-cache", ["show", ...options, ...wanted], { env })).stdout);
}

/** Reads what `apt-cache show` prints. */
export function parseDigests(shown: string): Map<string, string> {
  const digests = new Map<string, string>();
  for (const stanza of shown.split(/\n\n+/)) {
    const field = (name: string) => new RegExp(`^${name}: (\\S+)$`, "m").exec(stanza)?.[1];
    const [name, version, digest] = [field("Package"), field("Version"), field("SHA256")];
    if (digest !== undefined) digests.set(`${name}=${version}`, digest);
  }
  return digests;
}

/** Packages whose file is absent, or not the one that was promised; what is wrong is removed. */
async function unusable(
  packages: readonly DebianPackage[],
  digests: ReadonlyMap<string, string>,
): Promise<DebianPackage[]> {
  const bad: DebianPackage[] = [];
  for (const each of packages) {
    const { name, version, file } = each;
    const found = existsSync(file) ? await digestOfFile(file) : undefined;
    if (found !== undefined && found === digests.get(`${name.split(":")[0]}=${version}`)) continue;
    bad.push(each);
    await rm(file, { force: true });
  }
  return bad;
}

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** The version that apt would install, or undefined. Looks at the lists that exist; never downloads. */
export async function candidateVersion(
  name: string,
  options: DebianOptions = {},
): Promise<string | undefined> {
  const env = options.env ?? process.env;
  if (!hasApt(env)) return undefined;
  const home = aptHome(options);
  const own = join(home, "state");
  const lists = existsSync(join(own, "lists"))
    ? [["-o", `Dir::State=${own}`, ...sourceOptions(home, options)]]
    : [];
  const candidates = [...(options.release === undefined ? [[]] : []), ...lists];
  for (const where of candidates) {
    const shown = await runCommand("apt-cache", ["show", "--no-all-versions", ...where, name], { env });
    const version = /^Version: (.+)$/m.exec(shown.stdout)?.[1];
    if (version !== undefined) return version;
  }
  return undefined;
}

/** Brings apt's lists into the cache where the machine's own are empty. */
export async function ensurePackageLists(options: DebianOptions = {}): Promise<void> {
  const home = aptHome(options);
  privateCache(options.env);
  await mkdir(home, { recursive: true });
  await withLock(join(home, "apt.lock"), () => listOptions(home, "own", options));
}

/** What `apt-cache` needs to look at the same lists as the functions here. */
export function cacheOptions(options: DebianOptions): string[] {
  const home = aptHome(options);
  return options.release === undefined
    ? []
    : ["-o", `Dir::State=${join(home, "state")}`, ...sourceOptions(home, options)];
}

/** Each release has a place of its own: lists, archives and sources do not mix. */
function aptHome({ env = process.env, release }: DebianOptions): string {
  return join(cacheDirectory(env), release === undefined ? "apt" : `apt-${release}`);
}

function sourceOptions(home: string, { release }: DebianOptions): string[] {
  return release === undefined
    ? []
    : ["-o", `Dir::Etc::sourcelist=${join(home, "sources.list")}`, "-o", "Dir::Etc::sourceparts=-"];
}

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** Another release from the mirror that the machine uses, signed by the same keyring. */
async function writeSources(home: string, release: DebianRelease): Promise<void> {
  const places = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"];
  const texts = await Promise.all(places.map((place) => readFile(place, "utf8").catch(() => "")));
  const mirror =
    /https?:\/\/\S+\/debian(?=\/?\s)/.exec(texts.join("\n"))?.[0] ?? "http://deb.debian.org/debian";
  const lines = [
    `deb [signed-by=${keyring}] ${mirror} ${release} main`,
    `deb [signed-by=${keyring}] ${mirror}-security ${release}-security main`,
  ];
  await writeFile(join(home, "sources.list"), `${lines.join("\n")}\n`);
}

/** Unpacks packages into `root`, following the root's own directory symlinks (`/bin` → `usr/bin`). */
export async function unpackPackages(packages: readonly DebianPackage[], root: string): Promise<void> {
  const skipped = ["doc", "man", "info", "locale", "lintian", "bash-completion", "doc-base", "bug"];
  // `/var/run` and `/var/lock` are absolute links in Debian, and tar would follow them to the machine's own.
  const exclude = [
    "--exclude=./var/run",
    "--exclude=./var/lock",
    ...skipped.map((name) => `--exclude=./usr/share/${name}/*`),
  ];
  for (const { file } of packages) {
    await pipeCommands(
      ["dpkg-deb", "--fsys-tarfile", file],
      ["tar", "-x", "-p", "--keep-directory-symlink", ...exclude, "-C", root],
    );
  }
  // As in layers: no file of ours lends its owner's rights to the user who runs it.
  const cleared = await runCommand("find", [
    ...[root, "-xdev", "-type", "f", "-perm", "/6000", "-exec", "chmod", "ug-s", "{}", "+"],
  ]);
  if (cleared.code !== 0) throw new ImageError("PackageUnavailable", `find failed: ${cleared.stderr.trim()}`);
}

/** `5:7.0.15-1~deb12u10` → `7.0.15`: without epoch, revision and repackaging marks. */
export function upstreamVersion(version: string): string {
  const withoutEpoch = version.slice(version.indexOf(":") + 1);
  // Debian's own release number: 12.4+deb12u11 is the base of 12.11.
  const release = /^(\d+)\.\d+\+deb\d+u(\d+)$/.exec(withoutEpoch);
  if (release !== null) return `${release[1]}.${release[2]}`;
  const dash = withoutEpoch.lastIndexOf("-");
  const upstream = dash < 0 ? withoutEpoch : withoutEpoch.slice(0, dash);
  return upstream.replace(/[+~].*$/, "");
}

const standardPlaces = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

/** The first file of that name on the PATH or in the standard places, which servers' tools often need. */
export function findOnPath(name: string, env: Environment = process.env): string | undefined {
  const directories = [...(env.PATH ?? "").split(":").filter(Boolean), ...standardPlaces];
  return directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
}

/** apt's view of what is installed. Pretended entries never hide real ones: other packages depend on their versions. */
async function statusFile(home: string, options: ClosureOptions): Promise<string> {
  const machine = "/var/lib/dpkg/status";
  const real = options.installed === "machine" && existsSync(machine) ? await readFile(machine, "utf8") : "";
  const absent = (options.without ?? []).filter((name) => !real.includes(`\nPackage: ${name}\n`));
  const architecture = (await runCommand("dpkg", ["--print-architecture"])).stdout.trim();
  const pretended = absent.map((name) =>
    [
      ...[
        `Package: ${name}`,
        "Status: install ok installed",
        "Maintainer: none",
        `Architecture: ${architecture}`,
      ],
      ...["Multi-Arch: allowed", "Version: 9999:1", "Description: assumed", ""],
    ].join("\n"),
  );
  const path = join(home, "status");
  await writeFile(path, [real, ...pretended].join("\n"));
  return path;
}

/** Options that select package lists; undefined when this kind of list does not help. */
async function listOptions(
  home: string,
  lists: "system" | "own" | "fresh",
  { env = process.env, onProgress, release }: DebianOptions,
): Promise<string[] | undefined> {
  if (lists === "system") return release === undefined ? [] : undefined;
  const state = join(home, "state");
  const options = ["-o", `Dir::State=${state}`, ...sourceOptions(home, { release })];
  if (release !== undefined) await writeSources(home, release);
  await mkdir(join(state, "lists", "partial"), { recursive: true });
  const stamp = join(state, "updated");
  const age = await stat(stamp).then(
    (found) => Date.now() - found.mtimeMs,
    () => Number.POSITIVE_INFINITY,
  );
  if (lists === "own" && age < listsMaxAgeMs) return options;
  if (lists === "fresh" && age < 60_000) return undefined;
  onProgress?.(`refreshing the package lists${release === undefined ? "" : ` of Debian ${release}`}`);
  const update = await runCommand(
    "apt-get",
    [
      "update",
      "-qq",
      "-o",
      "APT::Sandbox::User=root",
      "-o",
      "Debug::NoLocking=1",
      "-o",
      `Dir::Cache=${home}`,
      ...options,
    ],
    { env },
  );
  if (update.code !== 0) return undefined;
  await writeFile(stamp, "");
  return options;
}

/** Reads `Inst redis-server (5:7.0.15-1 Debian:12.11/stable [amd64])`; apt names its files after the same facts. */
export function parseSimulation(output: string, archives: string): DebianPackage[] {
  return [...output.matchAll(/^Inst (\S+) (?:\[\S+\] )?\((\S+) .*\[(\S+)\]\)/gm)].map((match) => {
    const [, name = "", version = "", architecture = ""] = match;
    const file = `${name}_${version.replaceAll(":", "%3a")}_${architecture}.deb`;
    return { name, version, file: join(archives, file) };
  });
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.replace(/^E: /, "") ?? "";
}
