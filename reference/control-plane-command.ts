// The command line of control-plane.ts: a control plane in the foreground until somebody interrupts it.
import { parseArgs } from "node:util";
import type { startControlPlane } from "./control-plane.ts";
import { ControlPlaneError } from "./errors.ts";
import { etcdLines, kubernetesLine, kubernetesLines } from "./releases.ts";

const usage = `Usage: npm run control-plane -- [options]

Runs the real etcd and kube-apiserver on loopback until interrupted.

  --port N         port of the API server (default: a free one)
  --token TEXT     token of the user admin, group system:masters (default: admin-token)
  --controllers    run kube-controller-manager too
  --scheduler      run kube-scheduler too
  --kubernetes LINE
                   release line of Kubernetes: ${kubernetesLines.join(", ")}
  --etcd LINE      release line of etcd: ${etcdLines.join(", ")}
  --durable        let etcd sync every write to the disk
  --logs DIR       write the logs there and keep them
  --help`;

/** Takes `start` as an argument, since importing it would make a circle. */
export async function runInForeground(
  start: typeof startControlPlane,
  argv: readonly string[],
): Promise<void> {
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.resolve());
  // Neither a signal handler nor a control plane keeps a process alive.
  const alive = setInterval(() => {}, 1 << 30);
  try {
    const options = parse(argv);
    if (options === undefined) return console.log(usage);
    const begun = Date.now();
    const starting = start(options);
    const controlPlane = await Promise.race([starting, stop.promise]);
    // Interrupted on the way: the keeper cleans up when this process ends.
    if (controlPlane === undefined) process.exit(1);
    console.log(
      `kube-apiserver ${controlPlane.version} is ready after ${Date.now() - begun} ms: ${controlPlane.server}`,
    );
    console.log(`  export KUBECONFIG=${controlPlane.kubeconfig}`);
    console.log(`  kubectl: ${controlPlane.kubectl}`);
    console.log(`  etcd: ${controlPlane.etcdEndpoint}`);
    console.log(`  logs: ${controlPlane.logs}`);
    const failure = await Promise.race([controlPlane.failure, stop.promise]);
    await controlPlane[Symbol.asyncDispose]();
    if (failure !== undefined) throw failure;
  } catch (error) {
    console.error(error instanceof ControlPlaneError || error instanceof TypeError ? error.message : error);
    process.exitCode = 1;
  } finally {
    clearInterval(alive);
  }
}

function parse(argv: readonly string[]): Parameters<typeof startControlPlane>[0] | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      port: { type: "string" },
      token: { type: "string" },
      controllers: { type: "boolean" },
      scheduler: { type: "boolean" },
      kubernetes: { type: "string" },
      etcd: { type: "string" },
      durable: { type: "boolean" },
      logs: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return undefined;
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536)) {
    throw new TypeError(`--port is a number from 1 to 65535, not ${values.port}`);
  }
  const etcd = etcdLines.find((line) => line === values.etcd);
  if (values.etcd !== undefined && etcd === undefined) {
    throw new TypeError(`--etcd is one of ${etcdLines.join(", ")}, not ${values.etcd}`);
  }
  const kubernetes = values.kubernetes === undefined ? undefined : kubernetesLine(values.kubernetes);
  return { ...values, port, kubernetes, etcd };
}
