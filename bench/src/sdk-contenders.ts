/** Those who are measured beside each other: how each is built, and how it is run. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "@keelson/machine";
import { operatorFlags } from "@keelson/runtime/internal";

/** What is measured of a contender. */
export type Mode = "import" | "sync" | "latency" | "manager";

export interface Contender {
  /** As it stands at the head of a column. */
  readonly name: string;
  readonly modes: readonly Mode[];
  /** The command line up to the arguments that all have in common. */
  command(mode: Mode): readonly [string, ...string[]];
}

const peers = join(import.meta.dirname, "../peers");

/** Ours, and as many of the others as can be built here. What is left out is told. */
export function buildContenders(wanted?: readonly string[]): Contender[] {
  const makers: Record<string, () => Contender> = {
    keelson: () => inNode("keelson", "keelson", ["import", "sync", "latency", "manager"], operatorFlags),
    // What the settings of an operator's image save, and what they cost.
    "keelson-default": () => inNode("with Node's defaults", "keelson", ["manager"]),
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
  const names = wanted ?? Object.keys(makers).filter((name) => name !== "keelson-default");
  return names.flatMap((name) => {
    const make = makers[name];
    if (!make) throw new Error(`there is no ${name}: ${Object.keys(makers).join(", ")}`);
    try {
      return [make()];
    } catch (error) {
      console.log(`${name} is left out: ${(error as Error).message.split("\n")[0]}`);
      return [];
    }
  });
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

function inNode(
  name: string,
  script: string,
  modes: readonly Mode[],
  managerFlags: readonly string[] = [],
): Contender {
  return {
    name,
    modes,
    command: (mode) => {
      // A manager runs as it does in production.
      const flags = mode === "manager" ? managerFlags : ["--expose-gc"];
      return [process.execPath, ...flags, join(peers, `${script}-${mode}.mjs`)];
    },
  };
}

function native(name: string, program: string): Contender {
  return { name, modes: ["sync", "latency", "manager"], command: (mode) => [program, mode] };
}

function targets(): string {
  const directory = join(cacheDirectory(), "bench");
  mkdirSync(directory, { recursive: true });
  return directory;
}
