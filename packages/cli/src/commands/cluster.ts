/** `keelson cluster up|down|status|fault`. */
import { dirname, join, resolve } from "node:path";
import type { ClusterRecord } from "@keelson/cluster/up";
import { buildCommand, buildRouteMap } from "@stricli/core";
import { type OutputFormat, output, print } from "../output.ts";
import { progress } from "../progress.ts";
import { PORT, wholeNumber } from "../whole-number.ts";
import { faults } from "./fault.ts";

/** A cluster that needs longer for one list is not well. */
const ANSWER_WITHIN_MS = 3_000;

interface UpFlags {
  readonly name: string;
  readonly nodes?: number;
  readonly port?: number;
  readonly tokenFile?: string;
  readonly dataDir?: string;
  readonly simulate: boolean;
  readonly kubeconfig?: string;
}

const name = {
  kind: "parsed",
  parse: String,
  brief: "Name of the cluster",
  placeholder: "name",
  default: "default",
} as const;

const up = buildCommand<UpFlags>({
  docs: { brief: "Start an embedded cluster in the background" },
  parameters: {
    flags: {
      name,
      nodes: {
        kind: "parsed",
        parse: wholeNumber({ min: 0, max: 100 }),
        brief: "Nodes that run pods, 0 for none. Default: 1",
        optional: true,
      },
      port: {
        kind: "parsed",
        parse: wholeNumber(PORT),
        brief: "Port on loopback. Default: a free one",
        optional: true,
      },
      tokenFile: {
        kind: "parsed",
        parse: String,
        brief: "File with the bearer token of an administrator",
        optional: true,
      },
      dataDir: { kind: "parsed", parse: String, brief: "Keep objects and volumes here", optional: true },
      kubeconfig: {
        kind: "parsed",
        parse: String,
        brief: "Add its context to this file; down takes it out again",
        optional: true,
      },
      simulate: {
        kind: "boolean",
        brief: "Pods are simulated: Ready without a process",
        default: false,
      },
    },
  },
  async func(flags) {
    const { clusterUp } = await import("@keelson/cluster/up");
    const { simulate, tokenFile, kubeconfig, ...rest } = flags;
    const { addContext, checkKubeconfig, contextName } = await import("../kubeconfig/file.ts");
    if (kubeconfig !== undefined) checkKubeconfig(kubeconfig);
    const line = progress(this.process);
    let cluster: Awaited<ReturnType<typeof clusterUp>>;
    try {
      cluster = await clusterUp({
        ...rest,
        ...(tokenFile && { apiserver: { tokenFile: resolve(tokenFile) } }),
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
    const ignored = cluster.existed ? differences(flags, cluster) : [];
    if (ignored.length > 0) {
      this.process.stdout.write(
        `It runs as it was started: for ${ignored.join(" and ")} take it down first, with keelson cluster down.\n`,
      );
    }
    if (kubeconfig !== undefined) {
      addContext(kubeconfig, cluster.name, cluster.kubeconfig);
      await rememberMerge(cluster.kubeconfig, resolve(kubeconfig));
      this.process.stdout.write(`${contextName(cluster.name)} is the current context of ${kubeconfig}.\n`);
      return;
    }
    this.process.stdout.write(`\n  export KUBECONFIG=${shellWord(cluster.kubeconfig)}\n`);
  },
});

/** Beside a cluster's own kubeconfig: the files that its context was added to, one a line. It goes with the cluster. */
const mergesOf = (kubeconfig: string) => join(dirname(kubeconfig), "merged-kubeconfigs");

async function mergedInto(kubeconfig: string): Promise<string[]> {
  const { readFile } = await import("node:fs/promises");
  const text = await readFile(mergesOf(kubeconfig), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

async function rememberMerge(kubeconfig: string, file: string): Promise<void> {
  const { writeFile } = await import("node:fs/promises");
  const files = new Set([...(await mergedInto(kubeconfig)), file]);
  await writeFile(mergesOf(kubeconfig), [...files].map((each) => `${each}\n`).join(""), { mode: 0o600 });
}

/** The flags that a cluster which runs already does not follow. */
function differences({ dataDir, nodes, port, simulate }: UpFlags, cluster: ClusterRecord): string[] {
  const other: (string | false)[] = [
    nodes !== undefined && nodes !== cluster.nodes && `--nodes ${nodes}`,
    port !== undefined && port !== 0 && String(port) !== new URL(cluster.server).port && `--port ${port}`,
    dataDir !== undefined && resolve(dataDir) !== cluster.dataDir && `--data-dir ${dataDir}`,
    simulate && cluster.pods === "real" && "--simulate",
  ];
  return other.filter((each) => each !== false);
}

/** As a shell reads it, whatever is in it. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const down = buildCommand<{ readonly name: string }>({
  docs: { brief: "Stop a cluster and everything in it" },
  parameters: { flags: { name } },
  async func(flags) {
    const { clusterDown, readRecord } = await import("@keelson/cluster/up");
    const record = await readRecord(flags.name);
    const merged = record === undefined ? [] : await mergedInto(record.kubeconfig);
    const was = await clusterDown(flags.name);
    if (merged.length > 0) {
      const { removeContext } = await import("../kubeconfig/file.ts");
      for (const file of merged) removeContext(file, flags.name);
    }
    this.process.stdout.write(
      was ? `Cluster ${flags.name} is down.\n` : `No cluster ${flags.name} was up.\n`,
    );
  },
});

const status = buildCommand<{ readonly output?: OutputFormat }>({
  docs: { brief: "List the clusters that run" },
  parameters: { flags: { output } },
  async func({ output }) {
    const { clusterNames, readRecord } = await import("@keelson/cluster/up");
    const records = (await Promise.all((await clusterNames()).map(readRecord))).filter(
      (each) => each !== undefined,
    );
    const states = await Promise.all(records.map(stateOf));
    if (output !== undefined) {
      const shown = records.map(({ name, server, kubeconfig, nodes, pods, startedAt }, index) => ({
        ...{ name, server, kubeconfig, nodes, pods, startedAt, state: states[index] },
      }));
      return await print(this.process, shown, output);
    }
    if (records.length === 0) this.process.stdout.write("No cluster is up. Start one: keelson cluster up\n");
    for (const [index, { name, kubeconfig, server, startedAt }] of records.entries()) {
      this.process.stdout.write(
        `${name}  ${server}  ${states[index]}  since ${startedAt}\n  ${kubeconfig}\n`,
      );
    }
  },
});

/** What its API server says of the nodes, if it says anything. */
async function stateOf({ kubeconfig, name, pods }: ClusterRecord): Promise<string> {
  const [{ connect }, { Node }] = await Promise.all([
    import("@keelson/client"),
    import("@keelson/core/kinds"),
  ]);
  const client = await connect({ kubeconfig });
  try {
    const { items } = await client.kind(Node).list({ signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const ready = items.filter(({ status }) =>
      status?.conditions?.some((each) => each.type === "Ready" && each.status === "True"),
    );
    if (items.length === 0) return "no nodes";
    return `${ready.length} of ${items.length} nodes ready${pods === "none" ? "" : `, ${pods} pods`}`;
  } catch {
    return `does not answer (frozen? keelson cluster fault api-up --name ${name})`;
  } finally {
    await client.close();
  }
}

export const cluster = buildRouteMap({
  routes: { up, down, status, fault: faults },
  docs: { brief: "The embedded cluster" },
});
