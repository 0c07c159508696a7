/**
 * `npm run conformance:kubectl -- --suite DIR`: the upstream kubectl suite (test/cmd) against the embedded API server,
 * with `--controllers` against the embedded control plane, with `--reference` against the real one.
 */
import { accessSync, appendFileSync, constants, mkdtempSync, readFileSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { startCluster } from "@keelson/cluster";
import { startControlPlane } from "../reference/control-plane.ts";
import { commandLine } from "./command-line.ts";
import { type FunctionResult, runSuite, suiteFunctions } from "./kubectl-suite/suite.ts";

/** As upstream starts it for this suite. */
const disabledPlugins = [
  "ServiceAccount",
  "DefaultStorageClass",
  "DefaultTolerationSeconds",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionWebhook",
  "StorageObjectInUseProtection",
].join(",");
const serviceRange = "10.0.0.0/24";
const token = "admin-token";

const values = commandLine({
  command: "npm run conformance:kubectl",
  does: "The upstream kubectl suite (test/cmd) against the embedded API server.",
  options: {
    suite: { text: "DIR", required: true, help: "a checkout of Kubernetes v1.33.1; only read" },
    controllers: { help: "with controllers, not the API server alone" },
    scheduler: {
      help: "with a scheduler too: upstream has none, and its suite reads of no pod that cannot be placed",
    },
    reference: { help: "on the real control plane (npm run reference)" },
    server: {
      text: "URL",
      help: "on this server of 127.0.0.1, whose token admin-token is an administrator's",
    },
    only: { text: "FN,FN", help: "these functions instead of all" },
    fresh: { help: "a new server for each function: none meets what another left behind" },
    kubectl: {
      text: "FILE",
      help: "the kubectl to use (default: kubectl.1.33 beside the kubectl of the PATH)",
    },
    logs: { text: "DIR", help: "one log per function (default: a temporary directory)" },
    timeout: { number: "N", default: 300, help: "seconds for one function" },
  },
});

process.exitCode = await play(resolve(values.suite));

async function play(checkout: string): Promise<number> {
  const logs = values.logs ? resolve(values.logs) : mkdtempSync(join(tmpdir(), "keelson-kubectl-logs-"));
  const only = values.only?.split(",");
  const results: FunctionResult[] = [];
  const run = async (functions: readonly string[] | undefined) => {
    await using server = await start(join(checkout, "hack/testdata/ca/ca.crt"));
    await runSuite({
      checkout,
      kubectl: values.kubectl ?? findKubectl("kubectl.1.33"),
      port: Number(new URL(server.address).port),
      logs,
      timeoutMs: values.timeout * 1000,
      ...(functions && { only: functions }),
      onResult: (result) => {
        results.push(result);
        const { name, passed, seconds, reason } = result;
        console.log(`${passed ? "ok  " : "FAIL"} ${seconds.toFixed(0).padStart(4)}s ${name}  ${reason}`);
      },
    });
  };
  if (values.fresh) for (const name of only ?? suiteFunctions(checkout)) await run([name]);
  else await run(only);
  const functions = results.filter(({ name }) => name !== "(between)");
  const passed = functions.filter((result) => result.passed).length;
  console.log(`\n${passed} of ${functions.length} functions pass; logs in ${logs}`);
  return passed === functions.length ? 0 : 1;
}

interface Server extends AsyncDisposable {
  readonly address: string;
}

async function start(clientCaFile: string): Promise<Server> {
  if (values.server) return { address: values.server, [Symbol.asyncDispose]: async () => {} };
  if (values.reference) {
    const plane = await startControlPlane({
      token,
      controllers: values.controllers,
      scheduler: values.scheduler,
      flags: {
        "kube-apiserver": [
          // Given twice, modes add up.
          "--authorization-mode=AlwaysAllow",
          `--disable-admission-plugins=${disabledPlugins}`,
          `--service-cluster-ip-range=${serviceRange}`,
        ],
        "kube-controller-manager": [`--service-cluster-ip-range=${serviceRange}`],
      },
    });
    // It reads the file again when it changes.
    appendFileSync(plane.caFile, readFileSync(clientCaFile));
    return { address: plane.server, [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose]() };
  }
  const cluster = await startCluster({
    nodes: 0,
    controllers: values.controllers,
    scheduler: values.scheduler,
    token,
    apiserver: {
      authorizationMode: "RBAC,AlwaysAllow",
      disableAdmissionPlugins: disabledPlugins,
      serviceClusterIpRange: serviceRange,
      clientCaFile,
    },
  });
  return { address: cluster.server, [Symbol.asyncDispose]: () => cluster.stop() };
}

/** Beside the kubectl of the PATH, wherever that really lies. */
function findKubectl(name: string): string {
  for (const directory of (process.env["PATH"] ?? "").split(delimiter)) {
    try {
      const candidate = join(dirname(realpathSync(join(directory, "kubectl"))), name);
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not here; the next may have it.
    }
  }
  throw new Error(`there is no ${name} beside kubectl: give --kubectl FILE, of the version of the suite`);
}
