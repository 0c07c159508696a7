/** `npm run conformance:kro -- --suite DIR`: kro's end-to-end tests and examples, on Keelson's graphs or on kro itself. */
import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, globSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startApiServer } from "@keelson/apiserver";
import { type Client, connect } from "@keelson/client";
import { CustomResourceDefinition } from "@keelson/core/kinds";
import { graphs, ResourceGraphDefinition } from "@keelson/graphs";
import { install, operator, silentLogger } from "@keelson/runtime";
import { startControlPlane } from "../reference/control-plane.ts";
import { commandLine } from "./command-line.ts";
import { type CaseResult, chainsawTests, runChainsaw } from "./kro-suite/chainsaw.ts";
import { exampleCrds, runExamples } from "./kro-suite/examples.ts";
import { put, readObjects } from "./kro-suite/objects.ts";

const values = commandLine({
  command: "npm run conformance:kro",
  does: "What kro tests itself with, its end-to-end tests and its examples, against Keelson's graphs.",
  options: {
    suite: { text: "DIR", required: true, help: "a checkout of kubernetes-sigs/kro; only read" },
    kro: { text: "FILE", help: "on kro's own controller, this program" },
    reference: { help: "on the real API server (npm run reference)" },
    only: { text: "NAME", help: "this end-to-end test alone" },
    "no-examples": { help: "without the examples" },
    "no-e2e": { help: "without the end-to-end tests" },
    timeout: { number: "N", default: 60, help: "seconds for one step" },
    json: { text: "FILE", help: "write the results there" },
  },
});

process.exitCode = await play(resolve(values.suite));

async function play(checkout: string): Promise<number> {
  const timeoutMs = values.timeout * 1000;
  const directory = mkdtempSync(join(tmpdir(), "keelson-kro-"));
  await using server = values.reference
    ? await startControlPlane()
    : await startApiServer({ port: 0, kubeconfig: join(directory, "kubeconfig") });
  const client = await connect({ kubeconfig: server.kubeconfig });
  await using _subject = values.kro
    ? await startKro(client, checkout, values.kro, server.kubeconfig, directory)
    : await startGraphs(client);
  const results: { e2e: CaseResult[]; examples: CaseResult[] } = { e2e: [], examples: [] };
  const tests = values.only ? [values.only] : values["no-e2e"] ? [] : chainsawTests(checkout);
  for (const name of tests) {
    results.e2e.push(told(await runChainsaw(client, checkout, name, timeoutMs)));
  }
  if (!values["no-examples"] && !values.only) {
    for (const crd of exampleCrds(checkout)) await put(client, crd, "", timeoutMs);
    for (const result of await runExamples(client, checkout, timeoutMs)) results.examples.push(told(result));
  }
  for (const [name, cases] of Object.entries(results)) {
    const passed = cases.filter(({ problem }) => problem === undefined).length;
    console.log(`${name}: ${passed} of ${cases.length} passed`);
  }
  if (values.json) writeFileSync(values.json, `${JSON.stringify(results, undefined, 2)}\n`);
  await client.close();
  return results.e2e.some(({ problem }) => problem !== undefined) ? 1 : 0;
}

function told(result: CaseResult): CaseResult {
  console.log(`${result.problem === undefined ? "ok  " : "FAIL"} ${result.name}  ${result.problem ?? ""}`);
  return result;
}

async function startGraphs(client: Client): Promise<AsyncDisposable> {
  await install(client, [ResourceGraphDefinition]);
  return await operator({ name: "graphs", controllers: [graphs()], client, log: silentLogger }).start();
}

async function startKro(
  client: Client,
  checkout: string,
  program: string,
  kubeconfig: string,
  directory: string,
): Promise<AsyncDisposable> {
  const crds = globSync("helm/crds/*.yaml", { cwd: checkout }).flatMap((file) =>
    readObjects(join(checkout, file)),
  );
  for (const crd of crds) await client.kind(CustomResourceDefinition).create(crd as never);
  const flags = ["--metrics-bind-address=0", "--health-probe-bind-address=0"];
  const child: ChildProcess = spawn(program, flags, {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = createWriteStream(join(directory, "kro.log"));
  child.stderr?.pipe(log);
  child.stdout?.pipe(log);
  console.log(`kro's log is ${join(directory, "kro.log")}`);
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await new Promise<void>((done) => {
        if (child.exitCode !== null) done();
        else child.once("exit", () => done());
      });
    },
  };
}
