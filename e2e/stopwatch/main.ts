/**
 * `npm run stopwatch`: from an empty folder to a Memcached that is Ready and answers, with the packages as they would be
 * published and real processes. Typing takes no time here; its lines are counted. Fails when something
 * does not work or more lines are needed than promised, and with `--strict` when it takes longer.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect as dial } from "node:net";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { connect, pods } from "@keelson/client";
import { Pod } from "@keelson/core/kinds";
import { commandLine } from "../../scripts/command-line.ts";
import { edited, edits, linesWritten } from "./edits.ts";

const GOAL_S = 60;
const GOAL_LINES = 40;

const values = commandLine({
  command: "npm run stopwatch",
  does: "From an empty folder to a Memcached that is Ready and answers, with the packages as they would be published, timed.",
  options: { strict: { help: `fail when it takes more than ${GOAL_S} s` } },
});
const root = join(import.meta.dirname, "../..");
const work = await mkdtemp(join(tmpdir(), "keelson-stopwatch-"));
const project = join(work, "memcached-operator");
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`,
  KEELSON_STATE: join(work, "state"),
};
const steps: [name: string, seconds: number][] = [];
let failure: unknown;
try {
  say("the packages, as they would be published (not counted)");
  await run(process.execPath, [join(root, "scripts/pack.ts"), join(work, "packages")], root);
  await mkdir(project);
  await timed("npm create keelson, packages installed", async () => {
    const command = join(root, "packages/create-keelson/bin/create-keelson.js");
    await run(
      process.execPath,
      [command, project, "--yes", "--kind", "Memcached", "--packages", join(work, "packages")],
      work,
    );
  });
  const written = await edit();
  const dev = start("npx", ["keelson", "dev", "--apply", "examples"], project);
  try {
    const kubeconfig = await timed(
      "npx keelson dev --apply examples, until Memcached example is Ready",
      async () => {
        const lines = linesOf(dev);
        const exported = await lines.until(/^export KUBECONFIG=(.*)$/);
        await lines.until(/^Memcached default\/example: Ready$/);
        return exported[1] ?? "";
      },
    );
    const seconds = steps.reduce((sum, [, each]) => sum + each, 0);
    say(`memcached answers: ${await versionOf(kubeconfig)}`);
    await interrupt(dev);
    say("the project passes its own check and tests (not counted)");
    await run("npm", ["run", "--silent", "check"], project);
    await run("npm", ["test", "--silent"], project);
    report(seconds, written);
  } finally {
    await interrupt(dev);
  }
} catch (error) {
  failure = error;
} finally {
  await rm(work, { recursive: true, force: true });
}
if (failure !== undefined) {
  console.error(failure instanceof Error ? failure.message : failure);
  process.exitCode = 1;
}

/** What a person types, all at once. */
async function edit(): Promise<number> {
  let written = 0;
  for (const file of new Set(edits.map((each) => each.file))) {
    const before = await readFile(join(project, file), "utf8");
    const after = edited(file, before);
    await writeFile(join(project, file), after);
    written += linesWritten(before, after);
  }
  return written;
}

function report(seconds: number, written: number): void {
  const load = loadavg()[0]?.toFixed(1);
  for (const [name, each] of steps) console.log(`${each.toFixed(1).padStart(6)} s  ${name}`);
  console.log(
    `${seconds.toFixed(1).padStart(6)} s  of at most ${GOAL_S} s; ${availableParallelism()} cores, load ${load}`,
  );
  console.log(`${String(written).padStart(6)}    lines written of at most ${GOAL_LINES}`);
  if (written > GOAL_LINES || (values.strict && seconds > GOAL_S)) process.exitCode = 1;
}

/** Asks the first pod by memcached's own protocol. */
async function versionOf(kubeconfig: string): Promise<string> {
  const client = await connect({ kubeconfig });
  try {
    const { items } = await client.kind(Pod).list({ namespace: "default", labels: "app=example" });
    const [pod] = items;
    if (!pod) throw new Error("there is no pod of the Memcached");
    await using port = await pods(client).forward(pod.metadata, { port: 11_211 });
    const socket = dial(port.localPort, "127.0.0.1");
    socket.write("version\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    const text = answer.toString().trim();
    if (!text.startsWith("VERSION ")) throw new Error(`memcached answered ${text}`);
    return text;
  } finally {
    await client.close();
  }
}

function say(sentence: string): void {
  console.error(sentence);
}

async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  say(name);
  const result = await work();
  steps.push([name, (performance.now() - startedAt) / 1_000]);
  return result;
}

/** As a terminal does: every process of the command gets it. npx would not pass it on. */
async function interrupt(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  process.kill(-child.pid, "SIGINT");
  await once(child, "exit");
}

function start(command: string, args: readonly string[], cwd: string): ChildProcess {
  return spawn(command, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = start(command, args, cwd);
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => output.push(text));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${output.join("")}`);
}

/** The lines of a process, to wait for. */
function linesOf(child: ChildProcess): { until(form: RegExp): Promise<RegExpExecArray> } {
  const seen: string[] = [];
  let look = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on("line", (line) => {
      seen.push(line);
      look();
    });
  }
  return {
    until: (form) =>
      new Promise((resolve, reject) => {
        look = () => {
          const match = seen.map((line) => form.exec(line)).find((each) => each !== null);
          if (match) resolve(match);
        };
        child.once("exit", (code) => reject(new Error(`it ended with ${code}:\n${seen.join("\n")}`)));
        setTimeout(() => reject(new Error(`no line ${form} came:\n${seen.join("\n")}`)), 300_000).unref();
        look();
      }),
  };
}
