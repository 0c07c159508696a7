/** PostgreSQL's programs as child processes, and files that are written whole or not at all. */
import { spawn } from "node:child_process";
import { mkdir, open, readFile, rename, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";

export class Tools {
  readonly #programs: string;
  /** What a program said last when it failed. */
  lastWords = "";

  constructor(programs: string) {
    this.#programs = programs;
  }

  async run(
    program: string,
    args: readonly string[],
    env: Readonly<{ [name: string]: string }> = {},
    options: {
      readonly cwd?: string;
      /** Where it says what is wrong. Default: stderr. */
      readonly words?: "stdout" | "stderr";
    } = {},
  ): Promise<{ stdout: string }> {
    const child = spawn(join(this.#programs, program), [...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...serverEnvironment(), LC_ALL: "C", ...env },
      ...(options.cwd !== undefined && { cwd: options.cwd }),
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr = (stderr + chunk.toString()).slice(-4_000);
    });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (code === 0) return { stdout };
    const words = (options.words === "stdout" ? stdout : stderr).trim().split("\n");
    this.lastWords = words.at(-1) ?? "";
    const last = words.map((line) => line.trim()).filter((line) => line !== "");
    throw new Error(`${program} ended with ${code}: ${last.slice(options.words ? -6 : -3).join("; ")}`);
  }
}

/** What the agent itself needs to run is not handed on. */
export function serverEnvironment(): { [name: string]: string } {
  const { PATH = "", LANG = "C.UTF-8", HOME = "/tmp", TZ } = process.env;
  return { PATH, LANG, HOME, ...(TZ !== undefined && { TZ }) };
}

/** What PostgreSQL writes at least at once: a segment of its log. */
const segmentBytes = 16 << 20;

/** Whether next to nothing can be written there any more. */
export async function hasNoRoom(directory: string): Promise<boolean> {
  const volume = await statfs(directory).catch(() => undefined);
  return volume !== undefined && volume.bsize * volume.bavail < segmentBytes;
}

/** Leaves a file alone that says the same: on a full disk nothing can be written, and nothing must be cut off. */
export async function writeChanged(path: string, text: string): Promise<void> {
  if ((await readFile(path, "utf8").catch(() => undefined)) === text) return;
  const draft = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The whole file or none of it, and on disk when this resolves. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const directory = join(path, "..");
  await mkdir(directory, { recursive: true });
  const draft = `${path}.${process.pid}.tmp`;
  await using file = await open(draft, "w", 0o600);
  await file.writeFile(text);
  await file.sync();
  await rename(draft, path);
  await using parent = await open(directory);
  await parent.sync();
}
