/** `keelson dev`: an embedded cluster, the operator in it, and a view of both, until a person ends it. */
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { type Client, connect } from "@keelson/client";
import { type ClusterRecord, clusterDown, clusterUp } from "@keelson/cluster/up";
import { errorText } from "@keelson/core/internal";
import { type HeldLock, holdLock } from "@keelson/machine";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";
import { applyFiles } from "./apply.ts";
import type { DevEvent } from "./events.ts";
import { OperatorLoop } from "./loop.ts";
import { ResourceFollower } from "./resources.ts";
import { checkTypes, compilerOf } from "./type-check.ts";
import { isSource, isTyped, watchFiles } from "./watch-files.ts";

export interface DevOptions {
  readonly project: Project;
  /** The cluster's name. */
  readonly name: string;
  readonly nodes?: number;
  readonly simulate: boolean;
  /** Manifests that are applied when the operator works, and when one of them is saved. */
  readonly apply?: string;
  /** Leaves the cluster up at the end. */
  readonly keep: boolean;
  readonly tell: (event: DevEvent) => void;
}

/** What a person at the terminal can ask for. */
export interface Dev extends AsyncDisposable {
  reload(): void;
  /** Applies the manifests of this path. */
  apply(path: string): Promise<void>;
}

/** Resolves when the cluster is up and the operator is on its way. */
export async function startDev(options: DevOptions): Promise<Dev> {
  const { apply, keep, name, nodes, project, simulate, tell } = options;
  const cluster = await clusterUp({
    name,
    ...(nodes === undefined ? {} : { nodes }),
    ...(simulate ? { simulate: "always" as const } : {}),
    onProgress: (sentence) => tell({ type: "progress", sentence }),
  });
  const lock = await onlyOne(cluster);
  tell({ type: "cluster", ...cluster });
  const client = await connect({ kubeconfig: cluster.kubeconfig });
  const follower = new ResourceFollower(client, {
    seen: (row) => tell({ type: "resource", row }),
    gone: (kind, key) => tell({ type: "deleted", kind, key }),
  });
  const types = new TypeChecks(project.directory, tell);
  let worked = false;
  const loop = new OperatorLoop({
    project,
    tell,
    env: async () => ({
      KUBECONFIG: cluster.kubeconfig,
      KEELSON_CONTEXT: "",
      KEELSON_WEBHOOK_URL: `https://127.0.0.1:${await freePort()}`,
    }),
    kinds: (kinds) => follower.follow(kinds),
    works: () => {
      types.check();
      if (!worked && apply !== undefined) void applyAll(client, apply, tell);
      worked = true;
    },
  });
  const unwatch = watchFiles(project.directory, (paths) => {
    const sources = paths.filter(isSource);
    if (sources.length > 0) void loop.load(sources);
    else if (paths.some(isTyped)) types.check();
    // Before that the server does not know the operator's kinds.
    if (worked && apply !== undefined && paths.some((path) => /\.ya?ml$/.test(path)))
      void applyAll(client, apply, tell);
  });
  void loop.load();
  return {
    reload: () => void loop.load(["by hand"]),
    apply: (path) => applyAll(client, path, tell),
    [Symbol.asyncDispose]: async () => {
      unwatch();
      types.stop();
      follower.stop();
      await loop.stop();
      await client.close();
      lock.release();
      if (!keep && !cluster.existed) await clusterDown(name);
    },
  };
}

/** Two operators of one cluster would write the same objects, and take each other's webhooks. */
function onlyOne({ kubeconfig, name }: ClusterRecord): Promise<HeldLock> {
  return holdLock(join(dirname(kubeconfig), "dev.lock"), (pid) => {
    return new CliError(
      "AlreadyRuns",
      `keelson dev works on the cluster ${name} already (process ${pid}); end it there, or take another cluster: --name NAME`,
    );
  });
}

async function applyAll(client: Client, path: string, tell: DevOptions["tell"]): Promise<void> {
  try {
    for (const each of await applyFiles(client, path)) tell({ type: "applied", ...each });
  } catch (error) {
    tell({ type: "applied", what: path, refused: `cannot apply ${path}: ${errorText(error)}` });
  }
}

/** One check at a time, and always of what was saved last. */
class TypeChecks {
  readonly #directory: string;
  readonly #compiler: string | undefined;
  readonly #tell: DevOptions["tell"];
  #running: AbortController | undefined;

  constructor(directory: string, tell: DevOptions["tell"]) {
    this.#directory = directory;
    this.#compiler = compilerOf(directory);
    this.#tell = tell;
  }

  check(): void {
    if (this.#compiler === undefined) return;
    this.#running?.abort();
    const run = new AbortController();
    this.#running = run;
    this.#tell({ type: "checking" });
    checkTypes(this.#directory, this.#compiler, run.signal).then(
      (found) => run.signal.aborted || this.#tell({ type: "types", found }),
      (error: unknown) =>
        run.signal.aborted || this.#tell({ type: "log", level: "error", text: `tsc: ${errorText(error)}` }),
    );
  }

  stop(): void {
    this.#running?.abort();
  }
}

/** A port of loopback that nobody has at this moment. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
