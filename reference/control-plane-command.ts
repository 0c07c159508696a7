// The command line of control-plane.ts: a control plane in the foreground until somebody interrupts it.
import { commandLine, refuse } from "../scripts/command-line.ts";
import type { startControlPlane } from "./control-plane.ts";
import { ControlPlaneError } from "./errors.ts";
import { etcdLines, kubernetesLines } from "./releases.ts";

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

function parse(argv: readonly string[]): Parameters<typeof startControlPlane>[0] {
  const { words: _, ...values } = commandLine(
    {
      command: "npm run control-plane",
      does: "Runs the real etcd and kube-apiserver on loopback until interrupted.",
      options: {
        port: { number: "N", help: "port of the API server (default: a free one)" },
        token: { text: "TEXT", help: "token of the user admin, group system:masters (default: admin-token)" },
        controllers: { help: "run kube-controller-manager too" },
        scheduler: { help: "run kube-scheduler too" },
        kubernetes: { text: "LINE", oneOf: kubernetesLines, help: "release line of Kubernetes" },
        etcd: { text: "LINE", oneOf: etcdLines, help: "release line of etcd" },
        durable: { help: "let etcd sync every write to the disk" },
        logs: { text: "DIR", help: "write the logs there and keep them" },
      },
    },
    argv,
  );
  const { port } = values;
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536))
    refuse(`--port must be a whole number from 1 to 65535, not ${port}`);
  return values;
}
