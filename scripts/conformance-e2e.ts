/**
 * `npm run conformance:e2e`: the upstream conformance suite, built with Go, on an embedded cluster of two nodes, or with
 * `--on reference` on the real control plane with Keelson's nodes.
 */
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startCluster } from "@keelson/cluster";
import { startNodes } from "@keelson/node";
import { startControlPlane } from "../reference/control-plane.ts";
import { locateKubernetes } from "../reference/locate.ts";
import { kubernetesLine, kubernetesLines } from "../reference/releases.ts";
import { commandLine } from "./command-line.ts";
import { loadSuiteImages } from "./conformance-e2e/images.ts";
import { buildPrograms, type SuitePrograms } from "./conformance-e2e/programs.ts";
import { readReport, type SpecResult, summarize } from "./conformance-e2e/report.ts";

const values = commandLine({
  command: "npm run conformance:e2e",
  does: "Kubernetes' own conformance suite against the embedded cluster. Needs Go, which builds the suite.",
  options: {
    focus: {
      text: "TEXT",
      help: "tests whose names match this regular expression (default: all of [Conformance])",
    },
    skip: { text: "TEXT", help: "without those whose names match this one" },
    procs: {
      number: "N",
      default: 6,
      help: "tests at a time; serial ones are run afterwards, one at a time",
    },
    on: {
      text: "NAME",
      oneOf: ["reference"],
      help: "on the real control plane (npm run reference) with Keelson's nodes",
    },
    kubernetes: {
      text: "LINE",
      oneOf: kubernetesLines,
      help: "the suite of this line, and with --on reference its control plane",
    },
    suite: {
      text: "DIR",
      help: "build from this checkout of Kubernetes instead of the published Go modules",
    },
    busybox: {
      text: "FILE",
      help: "a static busybox of upstream for the tests' images instead of Debian's, whose shell drops some variables",
    },
    logs: { text: "DIR", help: "where the output and the reports go (default: a temporary directory)" },
    build: { help: "build the programs and make the images, and run nothing" },
  },
});

const nodes = 2;
const line = values.kubernetes === undefined ? undefined : kubernetesLine(values.kubernetes);
const say = (sentence: string) => console.log(sentence);

process.exitCode = await main();

async function main(): Promise<number> {
  const programs = await buildPrograms({
    ...(values.suite && { checkout: resolve(values.suite) }),
    ...(line && { line }),
    say,
  });
  await loadSuiteImages(programs, say, values.busybox && resolve(values.busybox));
  if (values.build) return 0;
  const logs = values.logs ? resolve(values.logs) : mkdtempSync(join(tmpdir(), "keelson-conformance-"));
  mkdirSync(logs, { recursive: true });
  await using cluster = await (values.on === "reference" ? realControlPlane() : embedded());
  const results: SpecResult[] = [];
  const began = Date.now();
  for (const [name, filter, procs] of [
    ["parallel", "Conformance && !Serial", String(values.procs)],
    ["serial", "Conformance && Serial", "1"],
  ] as const) {
    say(`${name} tests, output in ${join(logs, `${name}.log`)}`);
    await ginkgo({ programs, name, filter, procs, logs, kubeconfig: cluster.kubeconfig });
    const report = join(logs, `${name}.json`);
    if (existsSync(report)) results.push(...readReport(readFileSync(report, "utf8")));
  }
  for (const { sig, name, state, message } of results)
    if (state !== "passed") say(`${state.toUpperCase()} [sig-${sig}] ${name}\n    ${message.split("\n")[0]}`);
  say(`\n${summarize(results).join("\n")}`);
  say(`\n${Math.round((Date.now() - began) / 1000)} s; logs in ${logs}`);
  return results.length > 0 && results.every(({ state }) => state !== "failed") ? 0 : 1;
}

interface Target extends AsyncDisposable {
  readonly kubeconfig: string;
}

async function embedded(): Promise<Target> {
  const cluster = await startCluster({ nodes, simulate: "never" });
  return { kubeconfig: cluster.kubeconfig, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

async function realControlPlane(): Promise<Target> {
  const stack = new AsyncDisposableStack();
  const plane = stack.use(await startControlPlane({ controllers: true, scheduler: true, kubernetes: line }));
  const names = Array.from({ length: nodes }, (_, index) => `node-${index + 1}`);
  stack.use(await startNodes({ names, kubeconfig: plane.kubeconfig, simulate: "never" }));
  return { kubeconfig: plane.kubeconfig, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

interface Run {
  readonly programs: SuitePrograms;
  readonly name: string;
  readonly filter: string;
  readonly procs: string;
  readonly logs: string;
  readonly kubeconfig: string;
}

async function ginkgo({ programs, name, filter, procs, logs, kubeconfig }: Run): Promise<void> {
  const reference = locateKubernetes(process.env, line);
  const kubectl = "missing" in reference ? undefined : reference.kubectl;
  const report = join(logs, `${name}.json`);
  rmSync(report, { force: true });
  const child = spawn(
    programs.path("ginkgo"),
    [
      ...["--no-color", "--silence-skips", "--keep-going", `--procs=${procs}`, `--label-filter=${filter}`],
      ...["--timeout=4h", `--json-report=${report}`],
      ...(values.focus ? [`--focus=${values.focus}`] : []),
      ...(values.skip ? [`--skip=${values.skip}`] : []),
      programs.path("e2e.test"),
      "--",
      ...[`--kubeconfig=${kubeconfig}`, "--provider=skeleton", "--minStartupPods=0", `--num-nodes=${nodes}`],
      ...(kubectl ? [`--kubectl-path=${kubectl}`] : []),
    ],
    { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, KUBECONFIG: kubeconfig } },
  );
  const log = createWriteStream(join(logs, `${name}.log`));
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  // Who interrupts gets the report of what was done.
  const interrupt = () => void child.kill("SIGINT");
  process.on("SIGINT", interrupt);
  await new Promise<void>((done, reject) => {
    child.once("error", reject);
    child.once("close", () => done());
  });
  process.off("SIGINT", interrupt);
  log.end();
}
