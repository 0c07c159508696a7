/**
 * `npm run conformance:metacontroller`: Metacontroller's own examples with their own test scripts, against Keelson's hooks
 * and against Metacontroller. The API server and the controllers are those of
 * the embedded cluster, pods are simulated, and the hooks' programs run on loopback, unchanged; examples that need pods
 * with processes (`kubectl logs`) cannot pass so.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startCluster } from "@keelson/cluster";
import { Namespace } from "@keelson/core/kinds";
import {
  CompositeController,
  ControllerRevision,
  DecoratorController,
  hookHosts,
  networkTransport,
} from "@keelson/hooks";
import { install, operator, silentLogger } from "@keelson/runtime";
import { commandLine, refuse } from "./command-line.ts";
import { HookProcesses } from "./metacontroller-suite/hook-processes.ts";
import { startProxy } from "./metacontroller-suite/proxy.ts";

const values = commandLine({
  command: "npm run conformance:metacontroller",
  does: "Metacontroller's own examples with their own test scripts, against Keelson's hooks and against Metacontroller.",
  options: {
    suite: { text: "DIR", required: true, help: "a checkout of Metacontroller; only read" },
    with: { text: "NAME,…", default: "keelson", help: "keelson, metacontroller, or both" },
    binary: { text: "FILE", help: "Metacontroller as Go builds it; needed to run it" },
    only: { text: "NAME,…", help: "these examples alone" },
    seconds: { number: "N", default: 180, help: "for one example" },
    parallel: {
      number: "N",
      default: 1,
      help: "examples at a time; those that share names must not be among them",
    },
    jsonnet: {
      text: "DIR",
      default: "",
      help: "where Python finds the module _jsonnet, for hooks in Jsonnet",
    },
    keep: { text: "DIR", help: "write a log for each example there" },
  },
});

interface Result {
  readonly passed: boolean;
  readonly seconds: number;
  readonly lastLine: string;
}

const suite = resolve(values.suite);
const scratch = mkdtempSync(join(tmpdir(), "mc-suite-"));
const examples = join(scratch, "examples");
cpSync(join(suite, "examples"), examples, { recursive: true });
cpSync(join(suite, "manifests"), join(scratch, "manifests"), { recursive: true });
const only = values.only?.split(",");
const names = readdirSync(examples)
  .filter((name) => existsSync(join(examples, name, "test.sh")))
  .filter((name) => only === undefined || only.includes(name))
  .sort();

const results = new Map<string, Map<string, Result>>();
for (const system of values.with.split(",")) results.set(system, await runSuite(system));
report();
rmSync(scratch, { recursive: true, force: true });
process.exit([...(results.get("keelson")?.values() ?? [])].every(({ passed }) => passed) ? 0 : 1);

async function runSuite(system: string): Promise<Map<string, Result>> {
  await using cluster = await startCluster({ simulate: "always" });
  await cluster.client.kind(Namespace).create({ metadata: { name: "metacontroller" } });
  await using hooks = new HookProcesses(cluster.client, {
    directory: join(scratch, `hooks-${system}`),
    server: join(suite, "examples", "nodejs", "server.js"),
    jsonnet: values.jsonnet,
  });
  hooks.start();
  await using _controller =
    system === "keelson"
      ? await startKeelson(cluster.client, hooks)
      : await startTheirs(cluster.kubeconfig, hooks);
  const out = new Map<string, Result>();
  const waiting = [...names];
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const result = await runTest(name, system, cluster.kubeconfig);
      out.set(name, result);
      const told = result.passed ? "passed" : `FAILED (${result.lastLine})`;
      console.error(`${system} ${name}: ${told} ${result.seconds} s`);
    }
  };
  await Promise.all(Array.from({ length: values.parallel }, work));
  return out;
}

async function startKeelson(
  client: Awaited<ReturnType<typeof startCluster>>["client"],
  hooks: HookProcesses,
) {
  await install(client, [CompositeController, DecoratorController, ControllerRevision]);
  const controllers = hookHosts({
    services: "dns",
    transport: async (request) => {
      const port = hooks.portOf(request.url.hostname);
      if (port === undefined) throw new Error(`no hook answers for ${request.url.hostname}`);
      return await networkTransport({ ...request, via: { host: "127.0.0.1", port } });
    },
  });
  return await operator({
    name: "hooks",
    client,
    controllers,
    log: silentLogger,
    leaderElection: false,
  }).start();
}

/** Their program calls hooks through a proxy, which leads each Service to its process. */
async function startTheirs(kubeconfig: string, hooks: HookProcesses): Promise<AsyncDisposable> {
  if (values.binary === undefined)
    refuse("--with metacontroller needs --binary FILE, its program as Go builds it");
  await command(
    "kubectl",
    ["apply", "-f", join(suite, "manifests", "production", "metacontroller-crds-v1.yaml")],
    {
      KUBECONFIG: kubeconfig,
    },
  );
  const proxy = await startProxy((host) => hooks.portOf(host));
  const address = `http://127.0.0.1:${proxy.port}`;
  const args = [
    ...["--kubeconfig", kubeconfig, "--discovery-interval=5s", "--metrics-address=0"],
    ...["--health-probe-bind-address=127.0.0.1:0", "--client-go-qps=100", "--client-go-burst=200"],
    // The strategy that its example of update strategies is written for.
    ...["--apply-strategy=server-side-apply", "--events-qps=1"],
  ];
  const child = spawn(values.binary, args, {
    env: { ...process.env, HTTP_PROXY: address, HTTPS_PROXY: address, NO_PROXY: "127.0.0.1,localhost" },
    stdio: ["ignore", "ignore", "ignore"],
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await ended(child);
      await proxy[Symbol.asyncDispose]();
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((done) => child.once("exit", done));
  child.kill("SIGKILL");
  await exit;
}

/** The script as it is. It cleans up after itself, also when it is ended. */
async function runTest(name: string, system: string, kubeconfig: string): Promise<Result> {
  const startedAt = performance.now();
  const log = await command(
    "timeout",
    ["--signal=TERM", "--kill-after=30", String(values.seconds), "bash", "./test.sh", "v1"],
    {
      KUBECONFIG: kubeconfig,
      cwd: join(examples, name),
      fails: "returns",
    },
  );
  if (values.keep !== undefined) writeFileSync(join(values.keep, `${system}-${name}.log`), log.text);
  const lines = log.text.split("\n").filter((line) => line.trim() !== "" && !line.includes("(NotFound)"));
  const cleanup = lines.findIndex((line) => line.startsWith("Clean up"));
  const lastLine = (cleanup > 0 ? lines[cleanup - 1] : lines.at(-1)) ?? "";
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  return { passed: log.code === 0, seconds, lastLine: lastLine.slice(0, 120) };
}

async function command(
  program: string,
  args: readonly string[],
  { KUBECONFIG, cwd, fails }: { KUBECONFIG: string; cwd?: string; fails?: "returns" },
): Promise<{ code: number; text: string }> {
  const child = spawn(program, args, { cwd, env: { ...process.env, KUBECONFIG } });
  let text = "";
  const add = (chunk: Buffer) => {
    text += chunk.toString();
  };
  child.stdout.on("data", add);
  child.stderr.on("data", add);
  const code = await new Promise<number>((done) => child.once("close", (status) => done(status ?? 1)));
  if (code !== 0 && fails === undefined) throw new Error(`${program} ended with ${code}: ${text}`);
  return { code, text };
}

function report(): void {
  const systems = [...results.keys()];
  console.log(`| example | ${systems.join(" | ")} |`);
  console.log(`| --- |${systems.map(() => " --- |").join("")}`);
  for (const name of names) {
    const cells = systems.map((system) => {
      const result = results.get(system)?.get(name);
      if (!result) return "not run";
      const { passed, seconds, lastLine } = result;
      return passed ? `passed, ${seconds} s` : `failed: ${lastLine}`;
    });
    console.log(`| ${name} | ${cells.join(" | ")} |`);
  }
  for (const system of systems) {
    const passed = [...(results.get(system)?.values() ?? [])].filter((each) => each.passed).length;
    console.log(`\n${system}: ${passed} of ${names.length}`);
  }
}
