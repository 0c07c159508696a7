/** `keelson cluster up|down|status|fault`. */
import { buildCommand, buildRouteMap, numberParser } from "@stricli/core";
import { progress } from "../progress.ts";
import { faults } from "./fault.ts";

interface UpFlags {
  readonly name: string;
  readonly nodes: number;
  readonly port?: number;
  readonly token?: string;
  readonly dataDir?: string;
  readonly simulate: boolean;
}

const name = { kind: "parsed", parse: String, brief: "Name of the cluster", default: "default" } as const;

const up = buildCommand<UpFlags>({
  docs: { brief: "Start an embedded cluster in the background" },
  parameters: {
    flags: {
      name,
      nodes: { kind: "parsed", parse: numberParser, brief: "Nodes that run pods; 0 for none", default: "1" },
      port: {
        kind: "parsed",
        parse: numberParser,
        brief: "Port on loopback; a free one unless given",
        optional: true,
      },
      token: { kind: "parsed", parse: String, brief: "Bearer token of an administrator", optional: true },
      dataDir: { kind: "parsed", parse: String, brief: "Keep objects and volumes here", optional: true },
      simulate: {
        kind: "boolean",
        brief: "Pods are Ready by word only: no process runs in them",
        default: false,
      },
    },
  },
  async func(flags) {
    const { clusterUp } = await import("@keelson/cluster/up");
    const line = progress(this.process);
    const { simulate, ...rest } = flags;
    let cluster: Awaited<ReturnType<typeof clusterUp>>;
    try {
      cluster = await clusterUp({
        ...rest,
        ...(simulate && { simulate: "always" as const }),
        onProgress: line.show,
      });
    } finally {
      line.end();
    }
    const said = cluster.existed ? "is up already" : "is up";
    this.process.stdout.write(`Cluster ${cluster.name} ${said} at ${cluster.server}.\n`);
    if (cluster.pods === "simulated") {
      this.process.stdout.write(
        simulate
          ? "Pods are simulated: no process runs in them.\n"
          : "This machine allows no sandboxes: pods are simulated, no process runs in them.\n",
      );
    }
    this.process.stdout.write(`\n  export KUBECONFIG=${cluster.kubeconfig}\n`);
  },
});

const down = buildCommand<{ readonly name: string }>({
  docs: { brief: "Stop a cluster and everything in it" },
  parameters: { flags: { name } },
  async func(flags) {
    const { clusterDown } = await import("@keelson/cluster/up");
    const was = await clusterDown(flags.name);
    this.process.stdout.write(
      was ? `Cluster ${flags.name} is down.\n` : `No cluster ${flags.name} was up.\n`,
    );
  },
});

const status = buildCommand({
  docs: { brief: "List the clusters that run" },
  parameters: { flags: {} },
  async func() {
    const { clusterNames, readRecord } = await import("@keelson/cluster/up");
    const records = (await Promise.all((await clusterNames()).map(readRecord))).filter(
      (each) => each !== undefined,
    );
    if (records.length === 0) this.process.stdout.write("No cluster is up. Start one: keelson cluster up\n");
    for (const record of records) {
      const { kubeconfig, nodes, pods, server, startedAt } = record;
      const state = pods === "none" ? "no nodes" : `${nodes} ${nodes === 1 ? "node" : "nodes"}, ${pods} pods`;
      this.process.stdout.write(`${record.name}  ${server}  ${state}  since ${startedAt}\n  ${kubeconfig}\n`);
    }
  },
});

export const cluster = buildRouteMap({
  routes: { up, down, status, fault: faults },
  docs: { brief: "The embedded cluster" },
});
