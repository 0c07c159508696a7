/** Real sandboxes for tests: a namespace as the node has it, pods in it, and commands that run in their containers. */
import { fileURLToPath } from "node:url";
import { parseImageReference } from "@keelson/images";
import { MadeImages, recipeFor } from "@keelson/images/internal";
import { ownMark } from "@keelson/machine";
import { launchInNamespace } from "../src/namespace/launch.ts";
import { effectiveCapabilities } from "../src/runtime/capabilities.ts";
import { removeCgroups } from "../src/runtime/cgroups.ts";
import type { ContainerSpec } from "../src/runtime/container-runtime.ts";
import { sandboxTools, temporaryDirectory } from "./node-machine.ts";
import type { WorkerRequest } from "./sandbox-worker.ts";

export type TestContainer = Partial<Omit<ContainerSpec, "onOutput">> & { readonly id: string };

export interface Sandboxes extends AsyncDisposable {
  /** Gone with the sandboxes; `run` below it is the runtime's. */
  readonly home: string;
  readonly ids: "all" | "range" | "single";
  ask<T>(request: WorkerRequest): Promise<T>;
  /** Runs a container of pod `a` to its end. */
  run(over: TestContainer): Promise<{ code: number; output: string; oomKilled: boolean }>;
  /** Starts a container of pod `a`. */
  start(over: TestContainer): Promise<void>;
  exec(container: string, script: string): Promise<{ code: number; stdout: string; stderr: string }>;
  container(over: TestContainer): Omit<ContainerSpec, "onOutput">;
}

const images = new MadeImages();

/** The root file system of an image that this machine makes. */
export async function rootOf(text: string): Promise<string> {
  const reference = parseImageReference(text);
  const recipe = recipeFor(reference);
  if (recipe === undefined) throw new Error(`no recipe for ${text}`);
  return (await images.resolve(recipe, reference)).rootfs;
}

export const sh = (script: string) => ["sh", "-c", script];

/** Pods `a` (alpha, 10.244.0.2) and `b` (beta, 10.244.0.3). */
export async function startSandboxes(): Promise<Sandboxes> {
  const stack = new AsyncDisposableStack();
  const home = stack.use(temporaryDirectory());
  const group = `keelson-${ownMark()}-${groups++}`;
  stack.defer(() => removeCgroups((name) => name === group));
  const debian = await rootOf("debian");
  const namespace = await launchInNamespace({
    module: fileURLToPath(new URL("./sandbox-worker.ts", import.meta.url)),
  });
  stack.defer(async () => {
    namespace.kill();
    await namespace.exited;
  });
  let requests = 0;
  const ask = <T>(request: WorkerRequest): Promise<T> => {
    const id = requests++;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const onMessage = (message: unknown) => {
      const answer = message as { id: number; result: T; error?: string };
      if (answer.id !== id) return;
      namespace.child.off("message", onMessage);
      if (answer.error === undefined) resolve(answer.result);
      else reject(new Error(answer.error));
    };
    namespace.child.on("message", onMessage);
    namespace.child.send({ id, request });
    return promise;
  };
  const container = (over: TestContainer): Omit<ContainerSpec, "onOutput"> => ({
    rootfs: debian,
    readOnlyRoot: false,
    command: ["sleep", "100000"],
    env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
    cwd: "/",
    user: { uid: 0, gid: 0, groups: [] },
    mounts: [],
    capabilities: effectiveCapabilities({}, false),
    ...over,
  });
  const ids = namespace.ids.mode;
  const tools = await sandboxTools();
  await ask({ do: "start", directory: `${home.path}/run`, tools, ids, group });
  await ask({ do: "pod", id: "a", hostname: "alpha", address: "10.244.0.2" });
  await ask({ do: "pod", id: "b", hostname: "beta", address: "10.244.0.3" });
  return {
    home: home.path,
    ids,
    ask,
    container,
    run: (over) => ask({ do: "run", pod: "a", spec: container(over), wait: true }),
    start: (over) => ask({ do: "run", pod: "a", spec: container(over), wait: false }),
    exec: (name, script) => ask({ do: "exec", container: name, command: sh(script) }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

let groups = 0;
