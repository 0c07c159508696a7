// The command behind `npm run reference`: builds each release's programs into the cache, once per version.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { acquireHeartbeatLock } from "@keelson/machine";
import { commandLine, refuse } from "../scripts/command-line.ts";
import {
  absentPrograms,
  allReleases,
  defaultReleases,
  kubernetesRelease,
  type Program,
  type Release,
  referenceDirectory,
  releaseDirectory,
} from "./releases.ts";

const allNames = ["kubernetes", "etcd", "helm", ...allReleases().map(nameOf)].join(", ");

const { words } = commandLine({
  command: "npm run reference",
  does: `Builds the real control plane, etcd and Helm from their Go modules into the cache; what is there already is kept.
NAME is one of: ${allNames}.
Without a name, all are built that the tests use: of Kubernetes ${kubernetesRelease().line} alone, as with the name kubernetes.
The cache is $KEELSON_CACHE, or $XDG_CACHE_HOME/keelson, or ~/.cache/keelson.`,
  words: "[NAME…]",
});

/** A failure the user can act on: its message is printed without a stack. */
class BuildError extends Error {}

const interrupted = new AbortController();

async function main(names: readonly string[]): Promise<void> {
  const wanted = select(names);
  const absent = wanted.filter((release) => absentPrograms(release, process.env).length > 0);
  for (const release of wanted) {
    if (!absent.includes(release)) say(release, `already in ${releaseDirectory(release, process.env)}`);
  }
  if (absent.length === 0) return;
  await requireGo(absent);
  // A build takes every core for minutes; whatever a person does meanwhile comes first.
  setPriority(10);
  console.log(
    `building into ${referenceDirectory(process.env)}; the first time, Kubernetes takes some ten minutes`,
  );
  for (const release of absent) await buildOnce(release);
}

function select(names: readonly string[]): Release[] {
  const releases = allReleases();
  const byDefault = defaultReleases().map(nameOf);
  const known = (release: Release) =>
    byDefault.includes(nameOf(release)) ? [release.project, nameOf(release)] : [nameOf(release)];
  const unknown = names.filter((name) => !releases.some((release) => known(release).includes(name)));
  if (unknown.length > 0) refuse(`nothing is called ${unknown.join(", ")}; there are ${allNames}`);
  return names.length === 0
    ? defaultReleases()
    : releases.filter((release) => known(release).some((name) => names.includes(name)));
}

/** Fails unless the machine's Go can build every one of them. */
async function requireGo(releases: readonly Release[]): Promise<void> {
  const versionIn = (cwd: string) => output("go", ["env", "GOVERSION"], cwd);
  const needed = releases
    .map((release) => release.goVersion)
    .sort(byVersion)
    .at(-1);
  const problem = `building the reference needs Go ${needed} or newer`;
  const remedy = "install it from https://go.dev/dl/ and put it on the PATH";
  // Outside a module there is no go.mod that could make an old Go refuse to answer.
  const installed = await versionIn(tmpdir()).catch(() => {
    throw new BuildError(`${problem}, and there is no go on the PATH: ${remedy}`);
  });
  // Inside one it may fetch a newer toolchain by itself, where its settings allow that.
  await Promise.all(releases.map((release) => versionIn(release.moduleDirectory))).catch((error: Error) => {
    throw new BuildError(`${problem}, and this machine has ${installed.trim()}: ${remedy}\n${error.message}`);
  });
}

async function buildOnce(release: Release): Promise<void> {
  const cache = referenceDirectory(process.env);
  const target = releaseDirectory(release, process.env);
  mkdirSync(cache, { recursive: true });
  using _ = await acquireHeartbeatLock(`${target}.lock`, {
    onWait: () => say(release, "another build of it is running: waiting"),
    signal: interrupted.signal,
  });
  if (absentPrograms(release, process.env).length === 0) return say(release, `already in ${target}`);
  removeAbandoned(cache);
  await buildInto(release, target);
}

async function buildInto(release: Release, target: string): Promise<void> {
  const started = Date.now();
  const work = mkdtempSync(join(referenceDirectory(process.env), ".building-"));
  try {
    const ldflags = await linkerFlags(release);
    for (const [index, program] of release.programs.entries()) {
      const step = `${program.name} (${index + 1} of ${release.programs.length})`;
      say(release, `building ${step}`);
      const begun = Date.now();
      const path = join(work, "bin", program.name);
      const flags = ["-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", ldflags];
      await output("go", ["build", ...flags, "-o", path, program.package], release.moduleDirectory);
      await verify(release, program, path);
      say(release, `built ${program.name}, ${megabytes(path)}, in ${seconds(begun)}`);
    }
    // mkdtemp makes it private; a cache may serve several users.
    chmodSync(work, 0o755);
    // Somebody may have removed a program by hand.
    if (absentPrograms(release, process.env).length > 0) rmSync(target, { recursive: true, force: true });
    try {
      renameSync(work, target);
    } catch (error) {
      // A second builder that took our lock for dead came first; its result is as good as ours.
      if (absentPrograms(release, process.env).length > 0) throw error;
    }
    say(release, `done in ${seconds(started)}: ${target}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Kubernetes and Helm learn their versions from the linker; etcd has it in its source. */
async function linkerFlags(release: Release): Promise<string> {
  const strip = "-s -w";
  if (release.project === "etcd") return strip;
  if (release.project === "helm") {
    return `${strip} -X ${release.module}/internal/version.version=v${release.version}`;
  }
  const [major, minor] = release.version.split(".");
  const published = await output(
    "go",
    ["list", "-m", "-f", '{{with .Time}}{{.Format "2006-01-02T15:04:05Z"}}{{end}}', release.module],
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
    // One that runs and is being stopped also reports an error; what it writes may be removed only after its end.
    child.on("error", (error) => child.pid === undefined && reject(error));
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
  await main(words);
} catch (error) {
  const reason = interrupted.signal.aborted ? interrupted.signal.reason : error;
  console.error(reason instanceof BuildError ? reason.message : reason);
  process.exitCode = 1;
}
