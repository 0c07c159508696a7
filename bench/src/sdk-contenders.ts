/** Those who are measured beside each other: how each is built, and how it is run. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { writeApp } from "@keelson/cli/internal";
import { cacheDirectory } from "@keelson/machine";
import { operatorEnvironment, operatorFlags } from "@keelson/runtime/internal";

/** What is measured of a contender. */
export type Mode = "import" | "sync" | "latency" | "manager";

export interface Contender {
  /** As it stands at the head of a column. */
  readonly name: string;
  readonly modes: readonly Mode[];
  /** The command line up to the arguments that all have in common. */
  command(mode: Mode): readonly [string, ...string[]];
  /** What its manager is started with in production, beside its arguments. */
  readonly env?: Readonly<Record<string, string>>;
}

const peers = join(import.meta.dirname, "../peers");

/** Ours, and as many of the others as can be built here. What is left out is told. */
export async function buildContenders(wanted?: readonly string[]): Promise<Contender[]> {
  const makers: Record<string, () => Contender | Promise<Contender>> = {
    keelson: async () => {
      const manager = [...operatorFlags, await bundledManager()];
      const measured = inNode("keelson", "keelson", ["import", "sync", "latency", "manager"], manager);
      return { ...measured, env: operatorEnvironment };
    },
    // What an operator's image saves, and what it costs: its settings, and its bundle.
    "keelson-default": async () =>
      inNode("with Node's defaults", "keelson", ["manager"], [await bundledManager()]),
    "keelson-modules": () =>
      inNode("as modules", "keelson", ["manager"], [...operatorFlags, script("keelson", "manager")]),
    "client-node": () => {
      if (!existsSync(join(peers, "node_modules"))) {
        execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: peers, stdio: "inherit" });
      }
      return inNode("@kubernetes/client-node", "client-node", ["import", "sync", "latency"]);
    },
    "controller-runtime": () => {
      const program = join(targets(), "controller-runtime");
      const cwd = join(peers, "controller-runtime");
      execFileSync("go", ["build", "-o", program, "."], { cwd, stdio: ["ignore", "inherit", "inherit"] });
      return native("controller-runtime", program);
    },
    kube: () => {
      const target = join(targets(), "kube");
      execFileSync("cargo", ["build", "--release", "--quiet", "--locked", "--target-dir", target], {
        cwd: join(peers, "kube"),
        stdio: ["ignore", "inherit", "inherit"],
      });
      return native("kube", join(target, "release/keelson-bench-kube"));
    },
  };
  const names = wanted ?? Object.keys(makers).filter((name) => !name.startsWith("keelson-"));
  const built: Contender[] = [];
  for (const name of names) {
    const make = makers[name];
    if (!make) throw new Error(`there is no ${name}: ${Object.keys(makers).join(", ")}`);
    try {
      built.push(await make());
    } catch (error) {
      console.log(`${name} is left out: ${(error as Error).message.split("\n")[0]}`);
    }
  }
  return built;
}

/** Our manager as an operator's image holds it. */
async function bundledManager(): Promise<string> {
  const main = basename(script("keelson", "manager"));
  const names = ["keelson", "@keelson/client", "@keelson/core", "@keelson/runtime"];
  const dependencies = Object.fromEntries(names.map((each) => [each, "*"]));
  const project = { directory: peers, name: "bench", version: "0", dependencies, entry: main, main };
  const folder = join(targets(), "keelson");
  rmSync(folder, { recursive: true, force: true });
  return await writeApp(project, folder);
}

/** Runs a contender to its end and gives what it prints last. */
export async function run<T>(contender: Contender, mode: Mode, args: readonly string[]): Promise<T> {
  const [program, ...first] = contender.command(mode);
  const options = { timeout: 300_000, env: environment() };
  const { stdout } = await promisify(execFile)(program, [...first, ...args], options);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as T;
}

/** Without what would load our sources: what is measured is what is published. */
export function environment(): NodeJS.ProcessEnv {
  return { ...process.env, NODE_OPTIONS: "" };
}

/** A manager is started with arguments of its own: it runs as it does in production. */
function inNode(
  name: string,
  peer: string,
  modes: readonly Mode[],
  manager: readonly string[] = [],
): Contender {
  return {
    name,
    modes,
    command: (mode) => [
      process.execPath,
      ...(mode === "manager" ? manager : ["--expose-gc", script(peer, mode)]),
    ],
  };
}

function script(peer: string, mode: Mode): string {
  return join(peers, `${peer}-${mode}.mjs`);
}

function native(name: string, program: string): Contender {
  return { name, modes: ["sync", "latency", "manager"], command: (mode) => [program, mode] };
}

function targets(): string {
  const directory = join(cacheDirectory(), "bench");
  mkdirSync(directory, { recursive: true });
  return directory;
}
