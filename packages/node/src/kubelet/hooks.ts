/** Lifecycle hooks: what runs right after a container's start and before its stop. */
import type { Clock } from "@keelson/core";
import type { Container, IntOrString, LifecycleHandler } from "@keelson/core/kinds";
import { NodeError } from "../errors.ts";
import type { ContainerHandle } from "../runtime/container-runtime.ts";
import { probeCommand, probeHttp } from "./probes/probe-actions.ts";

export interface HookContext {
  readonly handle: ContainerHandle;
  readonly container: Container;
  readonly podAddress: string;
  readonly clock: Clock;
  /** The hook is given up after this long. */
  readonly timeoutMs: number;
}

/** Throws with what the hook said when it failed. */
export async function runHook(hook: LifecycleHandler, context: HookContext): Promise<void> {
  const { handle, podAddress, timeoutMs, clock } = context;
  if (hook.sleep !== undefined) {
    const seconds = hook.sleep.seconds;
    await new Promise<void>((resolve) => clock.timer(Math.min(seconds * 1000, timeoutMs), resolve));
    return;
  }
  const outcome =
    hook.exec !== undefined
      ? await probeCommand(handle, hook.exec.command ?? [], timeoutMs)
      : hook.httpGet !== undefined
        ? await probeHttp({
            host: hook.httpGet.host || podAddress,
            port: portNumber(hook.httpGet.port, context.container),
            action: hook.httpGet,
            timeoutMs,
          })
        : { ok: true, message: "" };
  if (!outcome.ok) throw new NodeError("ContainerCannotRun", outcome.message);
}

/** A port by number, or by the name it has in the container. */
export function portNumber(port: IntOrString, container: Container): number {
  if (typeof port === "number") return port;
  const named = container.ports?.find(({ name }) => name === port)?.containerPort;
  const number = named ?? Number(port);
  if (!Number.isInteger(number) || number <= 0) {
    throw new NodeError(
      "ContainerConfig",
      `couldn't find port ${JSON.stringify(port)} in container ${container.name}`,
    );
  }
  return number;
}
