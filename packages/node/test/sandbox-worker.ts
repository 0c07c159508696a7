/** Runs inside the node's namespace for the sandbox tests: carries out one request at a time. */
import { readdirSync, readFileSync } from "node:fs";
import type { IdMode } from "@keelson/machine";
import type {
  ContainerHandle,
  ContainerSpec,
  PodSandbox,
  PodSandboxSpec,
} from "../src/runtime/container-runtime.ts";
import { SandboxRuntime, type SandboxTools } from "../src/runtime/sandbox-runtime.ts";

export type WorkerRequest =
  | { do: "start"; directory: string; tools: SandboxTools; ids: IdMode; group: string }
  | ({ do: "pod" } & PodSandboxSpec)
  | { do: "run"; pod: string; spec: Omit<ContainerSpec, "onOutput">; wait: boolean }
  | { do: "exec"; container: string; command: string[]; input?: string; tty?: boolean }
  | { do: "signal"; container: string; signal: NodeJS.Signals }
  | { do: "wait"; container: string }
  | { do: "fetch"; url: string }
  | { do: "remove"; pod: string }
  | { do: "census"; directory: string };

const pods = new Map<string, PodSandbox>();
const containers = new Map<string, { handle: ContainerHandle; output: () => string }>();
let runtime: SandboxRuntime | undefined;

async function carryOut(request: WorkerRequest): Promise<unknown> {
  switch (request.do) {
    case "start":
      runtime = await SandboxRuntime.start({ ...request, gateway: "10.244.0.1" });
      return undefined;
    case "pod":
      pods.set(request.id, await required(runtime).createPodSandbox(request));
      return undefined;
    case "run": {
      let output = "";
      const handle = await required(pods.get(request.pod)).startContainer({
        ...request.spec,
        onOutput: (_, chunk) => {
          output += chunk.toString();
        },
      });
      containers.set(request.spec.id, { handle, output: () => output });
      return request.wait ? { ...(await handle.exited), output } : undefined;
    }
    case "exec": {
      const session = await required(containers.get(request.container)).handle.exec({
        command: request.command,
        stdin: request.input !== undefined,
        tty: request.tty,
      });
      session.stdin?.end(request.input);
      const read = async (stream: AsyncIterable<unknown> | undefined) => {
        let text = "";
        for await (const chunk of stream ?? []) text += String(chunk);
        return text;
      };
      const [stdout, stderr] = await Promise.all([read(session.stdout), read(session.stderr)]);
      return { code: await session.exited, stdout, stderr };
    }
    case "signal":
      required(containers.get(request.container)).handle.signal(request.signal);
      return undefined;
    case "wait": {
      const { handle, output } = required(containers.get(request.container));
      return { ...(await handle.exited), output: output() };
    }
    case "fetch":
      return await fetchWithRetry(request.url);
    case "remove":
      await required(pods.get(request.pod)).remove();
      return undefined;
    case "census":
      return {
        processes: readdirSync("/proc").filter((name) => /^\d+$/.test(name) && !isWaitingShell(name)).length,
        mounts: readFileSync("/proc/self/mounts", "utf8").split(`${request.directory}/pods`).length - 1,
        links: readdirSync("/proc/sys/net/ipv4/conf").filter((name) => name.startsWith("kl")).length,
        files: readdirSync(`${request.directory}/pods`).length,
      };
  }
}

/** The runtime's own, for the next script. */
function isWaitingShell(pid: string): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8") === "sh\0";
}

/** A server needs a moment to listen; refusals are the sign to ask again. */
async function fetchWithRetry(url: string): Promise<string> {
  for (;;) {
    try {
      return await (await fetch(url)).text();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("not there");
  return value;
}

process.on("message", (message: { id: number; request: WorkerRequest }) => {
  carryOut(message.request).then(
    (result) => process.send?.({ id: message.id, result }),
    (error: unknown) => process.send?.({ id: message.id, error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
