/** Stops a container the polite way: its hook, its signal, and only then by force. */
import type { Clock } from "@keelson/core";
import type { Container } from "@keelson/core/kinds";
import type { ContainerHandle } from "../runtime/container-runtime.ts";
import type { Deadline } from "./deadline.ts";
import { runHook } from "./hooks.ts";

export interface StopInput {
  readonly handle: ContainerHandle;
  readonly container: Container;
  readonly podAddress: string;
  readonly clock: Clock;
  readonly signal: NodeJS.Signals;
  /** When patience ends. It may be shortened meanwhile. */
  readonly deadline: Deadline;
  readonly onHookFailed: (message: string) => void;
}

/** A container gets this long between its signal and its end even when the hook used up the time. */
const minimumGraceMs = 2_000;

export async function stopContainer(input: StopInput): Promise<void> {
  const { handle, container, clock, deadline } = input;
  let isGone = false;
  const gone = handle.exited.then(() => {
    isGone = true;
  });
  const preStop = container.lifecycle?.preStop;
  if (preStop !== undefined && deadline.remainingMs > 0) {
    const hook = runHook(preStop, { ...input, timeoutMs: deadline.remainingMs }).catch((error: unknown) =>
      input.onHookFailed(error instanceof Error ? error.message : String(error)),
    );
    await Promise.race([hook, gone, deadline.passed]);
  }
  handle.signal(input.signal);
  const short = deadline.remainingMs < minimumGraceMs && preStop !== undefined;
  const patience = short
    ? new Promise<void>((resolve) => clock.timer(minimumGraceMs, resolve))
    : deadline.passed;
  await Promise.race([gone, patience]);
  if (!isGone) handle.signal("SIGKILL");
  await gone;
}
