/** What the node knows about one container of a pod, over all its attempts. */
import type { Container, PodSpec } from "@keelson/core/kinds";
import type { ContainerUser } from "../runtime/container-runtime.ts";

/** `sidecar` is an init container that keeps running; `ephemeral` was added to debug. */
export type ContainerKind = "init" | "sidecar" | "regular" | "ephemeral";

export interface Termination {
  readonly containerId: string;
  readonly exitCode: number;
  readonly reason: string;
  readonly message?: string;
  /** Milliseconds since the epoch; undefined when it never ran. */
  readonly startedAt?: number;
  readonly finishedAt?: number;
}

export interface ContainerRecord {
  readonly name: string;
  readonly kind: ContainerKind;
  /** As the pod says now: its image and its resources may change. */
  spec: Container;
  /** Its image changed: it is started again, whatever the policy says of its end. */
  redefined?: boolean;
  /** `none`: not started yet. A start under way leaves the state as it was. */
  state: "none" | "running" | "exited";
  /** A start or a kill is under way. */
  busy: boolean;
  /** Not to be started before this moment, in milliseconds since the epoch; the reason is in `waiting`. */
  heldUntil?: number;
  /** Why the next start has not happened, as its status shows it. */
  waiting?: { reason: string; message?: string };
  containerId?: string;
  image?: string;
  imageId?: string;
  user?: ContainerUser;
  startedAt?: number;
  /** The startup probe has passed, or there is none. Meaningful while running. */
  started: boolean;
  ready: boolean;
  /** Of the current attempt, once `exited`. */
  termination?: Termination;
  /** Of the attempt before the current one. */
  previous?: Termination;
  /** Attempts so far; the restart count is one less. */
  attempts: number;
}

export function kindOf(container: Container, place: "init" | "regular"): ContainerKind {
  return place === "init" && container.restartPolicy === "Always" ? "sidecar" : place;
}

/** Fresh records in the order of the spec: init containers first. */
export function recordsFor(spec: PodSpec): ContainerRecord[] {
  const fresh = (container: Container, kind: ContainerKind): ContainerRecord => ({
    name: container.name,
    kind,
    spec: container,
    state: "none",
    busy: false,
    started: false,
    ready: false,
    attempts: 0,
  });
  return [
    ...(spec.initContainers ?? []).map((container) => fresh(container, kindOf(container, "init"))),
    ...spec.containers.map((container) => fresh(container, "regular")),
    ...(spec.ephemeralContainers ?? []).map((container) => fresh(container as Container, "ephemeral")),
  ];
}

/** Whether a container that ended with `exitCode` is started again while its pod lives. */
export function shouldRestart(
  record: Pick<ContainerRecord, "kind" | "spec" | "redefined">,
  spec: PodSpec,
  exitCode: number,
): boolean {
  if (record.redefined) return true;
  if (record.kind === "ephemeral") return false;
  if (record.kind === "sidecar") return true;
  const rule = (record.spec.restartPolicyRules ?? []).find(({ exitCodes }) => {
    if (exitCodes === undefined) return false;
    const listed = (exitCodes.values ?? []).includes(exitCode);
    return exitCodes.operator === "NotIn" ? !listed : listed;
  });
  if (rule?.action === "Restart") return true;
  const policy = record.spec.restartPolicy ?? spec.restartPolicy ?? "Always";
  if (record.kind === "init") return exitCode !== 0 && policy !== "Never";
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

export function isInitialized(records: readonly ContainerRecord[]): boolean {
  return records.some((record) => record.kind === "regular" && record.attempts > 0);
}
