// The command behind `npm run reference`: builds each release's programs into the cache, once per version.
import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { acquireBuildLock } from "./build-lock.ts";
import { allReleases, cacheDirectory, type Program, type Release, releaseDirectory } from "./releases.ts";

const usage = `Usage: npm run reference [-- NAME...]

Builds the real control plane and etcd from their Go modules into the cache; what is there already is kept.
NAME is one of: kubernetes, etcd, ${allReleases().map(nameOf).join(", ")}. Without a name, all are built.
The cache is $KEELSON_CACHE, or $XDG_CACHE_HOME/keelson, or ~/.cache/keelson.`;

/** A failure the user can act on: its message is printed without a stack. */
class BuildError extends Error {}

const interrupted = new AbortController();

async function main(names: readonly string[]): Promise<void> {
  if (names.includes("--help") || names.includes("-h")) return console.log(usage);
  const wanted = select(names);
  const absent = wanted.filter((release) => !existsSync(releaseDirectory(release, process.env)));
  for (const release of wanted) {
    if (!absent.includes(release)) say(release, `already in ${releaseDirectory(release, process.env)}`);
  }
  if (absent.length === 0) return;
  const go = await findGo(absent);
  // A build takes both the machine's cores for minutes; whatever a person does meanwhile comes first.
  setPriority(10);
  for (const release of absent) await buildOnce(go, release);
}

function select(names: readonly string[]): Release[] {
  const releases = allReleases();
  const known = (release: Release) => [release.project, nameOf(release)];
  const unknown = names.filter((name) => !releases.some((release) => known(release).includes(name)));
  if (unknown.length > 0) throw new BuildError(`nothing is called ${unknown.join(", ")}\n\n${usage}`);
  return names.length === 0
    ? releases
    : releases.filter((release) => known(release).some((name) => names.includes(name)));
}

async function findGo(releases: readonly Release[]): Promise<string> {
  const candidates = ["go", "/usr/local/go/bin/go"];
  const found: string[] = [];
  for (const go of candidates) {
    // Outside a module no go.mod can make an old Go refuse to tell its version.
    const installed = await output(go, ["env", "GOVERSION"], tmpdir()).catch(() => undefined);
    if (installed === undefined) continue;
    found.push(installed.trim());
    // Inside the modules Go may fetch a newer toolchain by itself, where its settings allow that.
    const directories = releases.map((release) => release.moduleDirectory);
    const usable = await Promise.all(directories.map((cwd) => output(go, ["env", "GOVERSION"], cwd))).catch(
      () => undefined,
    );
    if (usable !== undefined) return go;
  }
  const needed = releases
    .map((release) => release.goVersion)
    .sort(byVersion)
    .at(-1);
  const where = "install it from https://go.dev/dl/ and put it on the PATH";
  throw new BuildError(
    found.length === 0
      ? `building the reference needs Go ${needed} or newer, and there is no go on the PATH: ${where}`
      : `building the reference needs Go ${needed} or newer, and this machine has ${found.join(" and ")}: ${where}`,
  );
}

async function buildOnce(go: string, release: Release): Promise<void> {
  const cache = cacheDirectory(process.env);
  const target = releaseDirectory(release, process.env);
  mkdirSync(cache, { recursive: true });
  const lock = await acquireBuildLock(`${target}.lock`, {
    onWait: () => say(release, "another build of it is running: waiting"),
    signal: interrupted.signal,
  });
  try {
    if (existsSync(target)) return say(release, `already in ${target}`);
    removeAbandoned(cache);
    await buildInto(go, release, target);
  } finally {
    lock.release();
  }
}

async function buildInto(go: string, release: Release, target: string): Promise<void> {
  const started = Date.now();
  const work = mkdtempSync(join(cacheDirectory(process.env), ".building-"));
  try {
    const ldflags = await linkerFlags(go, release);
    for (const [index, program] of release.programs.entries()) {
      const step = `${program.name} (${index + 1} of ${release.programs.length})`;
      say(release, index === 0 ? `building ${step}; the first takes minutes` : `building ${step}`);
      const begun = Date.now();
      const path = join(work, "bin", program.name);
      const flags = ["-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", ldflags];
      await output(go, ["build", ...flags, "-o", path, program.package], release.moduleDirectory);
      await verify(release, program, path);
      say(release, `built ${program.name}, ${megabytes(path)}, in ${seconds(begun)}`);
    }
    // mkdtemp makes it private; a cache may serve several users.
    chmodSync(work, 0o755);
    try {
      renameSync(work, target);
    } catch (error) {
      // A second builder that took our lock for dead came first; its result is as good as ours.
      if (!existsSync(target)) throw error;
    }
    say(release, `done in ${seconds(started)}: ${target}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Kubernetes learns its version from the linker; etcd has it in its source. */
async function linkerFlags(go: string, release: Release): Promise<string> {
  const strip = "-s -w";
  if (release.project === "etcd") return strip;
  const [major, minor] = release.version.split(".");
  const published = await output(
    go,
    ["list", "-m", "-f", '{{.Time.Format "2006-01-02T15:04:05Z"}}', release.module],
    release.moduleDirectory,
  );
  const values = {
    gitVersion: `v${release.version}`,
    gitMajor: major,
    gitMinor: minor,
    // A module carries no commit, and the source's placeholder for one would be shown as if it were one.
    gitCommit: "",
    gitTreeState: "clean",
    // The day of the release, not of this build: the same module gives the same bytes.
    buildDate: published.trim(),
  };
  const packages = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];
  const settings = packages.flatMap((path) =>
    Object.entries(values).map(([name, value]) => `-X ${path}.${name}=${value}`),
  );
  return [strip, ...settings].join(" ");
}

async function verify(release: Release, program: Program, path: string): Promise<void> {
  const text = await output(path, program.versionArguments, tmpdir());
  if (!new RegExp(`(^|[^\\d.])v?${release.version.replaceAll(".", "\\.")}(?![\\d.])`, "m").test(text)) {
    throw new BuildError(`${program.name} was built as ${release.version} but reports: ${text.trim()}`);
  }
}

/** Directories of builds that were killed; a build never takes a day. */
function removeAbandoned(cache: string): void {
  for (const name of readdirSync(cache).filter((entry) => entry.startsWith(".building-"))) {
    const modified = statSync(join(cache, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - modified > 24 * 3600_000) rmSync(join(cache, name), { recursive: true, force: true });
  }
}

/** Runs a command to its end and gives what it printed; fails with everything it said. */
function output(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { GOOS, GOARCH, ...env } = process.env;
  const child = spawn(command, args, {
    cwd,
    env: { ...env, CGO_ENABLED: "0", GOWORK: "off" },
    stdio: ["ignore", "pipe", "pipe"],
    signal: interrupted.signal,
    killSignal: "SIGTERM",
  });
  return new Promise((resolve, reject) => {
    const said = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => (said.out += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (said.err += text));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) return resolve(said.out);
      reject(
        new BuildError(`${command} ${args[0]} ended with ${signal ?? code}:\n${said.err}${said.out}`.trim()),
      );
    });
  });
}

function nameOf(release: Release): string {
  return `${release.project}-${release.line}`;
}

function say(release: Release, text: string): void {
  console.log(`${release.project} ${release.version}: ${text}`);
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}

function megabytes(path: string): string {
  return `${(statSync(path).size / 1e6).toFixed(0)} MB`;
}

function byVersion(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => interrupted.abort(new BuildError(`stopped by ${signal}`)));
}
try {
  await main(process.argv.slice(2));
} catch (error) {
  const reason = interrupted.signal.aborted ? interrupted.signal.reason : error;
  console.error(reason instanceof BuildError ? reason.message : reason);
  process.exitCode = 1;
}
