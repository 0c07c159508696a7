// Plays the scenarios of conformance/controllers and those beside this file, and compares where objects end up with
// where kube-controller-manager and kube-scheduler of the reference brought them. Takes a quarter of an hour.
//
//   node --conditions=keelson-source packages/controllers/test/play-scenarios.ts [--on embedded|reference|api]
//        [--record] [--only deployment,job] [--case TEXT] [--verbose]
//
// `embedded` is our API server with our controllers; `api` the real API server with our controllers; `reference` the
// real control plane, on which --record records again what our own scenarios lead to.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@keelson/client";
import { startCluster } from "@keelson/cluster";
import { startControlPlane } from "@keelson/reference/control-plane";
import { silentLogger } from "@keelson/runtime";
import { startControllers } from "../src/index.ts";
import { arrange, scenarioFolder, takeBack } from "./recordings.ts";

interface Target extends AsyncDisposable {
  readonly server: string;
  readonly token: string;
}

const starts: Readonly<Record<string, () => Promise<Target>>> = {
  embedded: async () => await startCluster({ nodes: 0 }),
  reference: async () => await startControlPlane({ controllers: true, scheduler: true }),
  api: async () => {
    await using stack = new AsyncDisposableStack();
    const plane = stack.use(await startControlPlane());
    const client = await connect({ kubeconfig: plane.kubeconfig });
    stack.defer(() => client.close());
    const authority = { certificate: readFileSync(plane.caFile, "utf8"), key: "" };
    stack.use(await startControllers({ client, authority, log: silentLogger }));
    const { server, token } = plane;
    const moved = stack.move();
    return { server, token, [Symbol.asyncDispose]: () => moved.disposeAsync() };
  },
};

const args = process.argv.slice(2);
const at = args.indexOf("--on");
const on = at < 0 ? "embedded" : (args.splice(at, 2)[1] ?? "");
const start = starts[on];
if (!start) throw new Error(`there is no "${on}" to play on; it is one of ${Object.keys(starts).join(", ")}`);

await using target = await start();
const given = join(import.meta.dirname, "../../../conformance/controllers");
const arranged = await mkdtemp(join(tmpdir(), "recordings-"));
let failed = false;
try {
  const record = args.includes("--record");
  if (!record) {
    await arrange(arranged);
    await play(join(given, "scenarios"), join(given, "golden"));
  }
  await play(scenarioFolder, arranged);
  if (record) takeBack(arranged);
} finally {
  await rm(arranged, { recursive: true });
}
process.exitCode = failed ? 1 : 0;

async function play(scenarios: string, golden: string): Promise<void> {
  const flags = ["--scenarios", scenarios, "--golden", golden];
  const access = ["--server", target.server, "--token", target.token, "--insecure"];
  const player = spawn(process.execPath, [join(given, "run.mjs"), ...access, ...flags, ...args], {
    stdio: "inherit",
  });
  const [code] = await once(player, "exit");
  failed ||= code !== 0;
}
