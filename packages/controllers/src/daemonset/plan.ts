/** Which daemons come and go next, node by node. Pure. */

import type { NodeObject } from "@keelson/workloads";
import { isPodAvailable, isPodReady, type PodObject } from "@keelson/workloads";
import { scaledValue } from "../acting/scaled-value.ts";
import { bySeniority, type DaemonSetObject, hashLabel, isUpdated, placeOn } from "./daemon-pods.ts";

export interface DaemonInput {
  readonly set: DaemonSetObject;
  readonly nodes: readonly NodeObject[];
  readonly podsByNode: ReadonlyMap<string, readonly PodObject[]>;
  readonly hash: string;
  readonly nowMs: number;
}

export interface DaemonMoves {
  /** Nodes that get a daemon. */
  readonly create: string[];
  readonly remove: PodObject[];
}

/** Fills nodes that lack a daemon and clears those that should have none. `ended` are those that ran to their end. */
export function placement(input: DaemonInput): DaemonMoves & { readonly ended: PodObject[] } {
  const { set, nodes, podsByNode } = input;
  const moves = { create: [] as string[], remove: [] as PodObject[], ended: [] as PodObject[] };
  for (const node of nodes) {
    const { shouldRun, mayStay } = placeOn(set, node);
    const pods = podsByNode.get(node.metadata.name);
    const staying = (pods ?? []).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (shouldRun && !pods) moves.create.push(node.metadata.name);
    else if (!mayStay) moves.remove.push(...staying);
    else {
      const isEnded = ({ status }: PodObject) => status?.phase === "Failed" || status?.phase === "Succeeded";
      moves.ended.push(...staying.filter(isEnded));
      const running = staying.filter((pod) => !isEnded(pod)).toSorted(bySeniority);
      if (allowsSurge(set)) {
        if (running.length === 0 && shouldRun) moves.create.push(node.metadata.name);
        moves.remove.push(...supernumerary(input, running));
      } else {
        moves.remove.push(...running.slice(1));
      }
    }
  }
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  for (const [node, pods] of podsByNode) {
    if (known.has(node)) continue;
    // One that waits for a node that is gone would wait for ever; one that was there is somebody else's to remove.
    moves.remove.push(
      ...pods.filter((pod) => !pod.spec.nodeName && pod.metadata.deletionTimestamp === undefined),
    );
  }
  return moves;
}

/** While surging a node holds an old and a new daemon: the old one goes when the new one can take over. */
function supernumerary({ set, hash, nowMs }: DaemonInput, running: readonly PodObject[]): PodObject[] {
  if (running.length <= 1) return [];
  const isNew = (pod: PodObject) => pod.metadata.labels?.[hashLabel] === hash;
  const newest = running.find(isNew);
  const old = running.find((pod) => !isNew(pod));
  const gone = running.filter((pod) => pod !== newest && pod !== old);
  if (newest && old) {
    const takesOver = isPodAvailable(newest, set.spec.minReadySeconds ?? 0, nowMs);
    if (!isPodReady(old) || takesOver) gone.push(old);
  }
  return gone;
}

function allowsSurge(set: DaemonSetObject): boolean {
  return surgeOf(set, 1) > 0;
}

function surgeOf({ spec }: DaemonSetObject, desired: number): number {
  if (spec.updateStrategy?.type === "OnDelete") return 0;
  return scaledValue(spec.updateStrategy?.rollingUpdate?.maxSurge, desired, "up");
}

function unavailableOf({ spec }: DaemonSetObject, desired: number): number {
  return scaledValue(spec.updateStrategy?.rollingUpdate?.maxUnavailable, desired, "up");
}

/** One step towards the new template. */
export function rollingUpdate(input: DaemonInput): DaemonMoves {
  const { set, nodes } = input;
  const wanted = new Set(
    nodes.filter((node) => placeOn(set, node).shouldRun).map(({ metadata }) => metadata.name),
  );
  const surge = surgeOf(set, wanted.size);
  const unavailable = unavailableOf(set, wanted.size);
  const everyNode = new Set([...input.podsByNode.keys(), ...wanted]);
  if (surge > 0) return surging(input, everyNode, wanted, surge);
  return replacing(input, everyNode, wanted.size > 0 && unavailable === 0 ? 1 : unavailable);
}

/** The pod of the new template and the one of an old; undefined when a node holds more than one of a kind. */
function pairOn(
  { set, podsByNode, hash }: DaemonInput,
  node: string,
): { newest: PodObject | undefined; old: PodObject | undefined } | undefined {
  const staying = (podsByNode.get(node) ?? []).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
  const [updated, outdated] = [true, false].map((is) =>
    staying.filter((pod) => isUpdated(set, pod, hash) === is),
  );
  if ((updated?.length ?? 0) > 1 || (outdated?.length ?? 0) > 1) return undefined;
  return { newest: updated?.[0], old: outdated?.[0] };
}

function replacing(input: DaemonInput, nodes: Iterable<string>, maxUnavailable: number): DaemonMoves {
  const isAvailable = availability(input);
  let unavailable = 0;
  const broken: PodObject[] = [];
  const candidates: PodObject[] = [];
  for (const node of nodes) {
    const pair = pairOn(input, node);
    const { newest, old } = pair ?? {};
    if (!pair || Boolean(newest) === Boolean(old)) unavailable++;
    else if (newest) unavailable += Number(!isAvailable(newest));
    else if (old && !isAvailable(old)) {
      broken.push(old);
      unavailable++;
    } else if (old) candidates.push(old);
  }
  const left = Math.max(0, maxUnavailable - unavailable);
  return { create: [], remove: [...broken, ...candidates.slice(0, left)] };
}

function surging(
  input: DaemonInput,
  nodes: Iterable<string>,
  wanted: ReadonlySet<string>,
  maxSurge: number,
): DaemonMoves {
  const isAvailable = availability(input);
  let surges = 0;
  let available = 0;
  const remove: PodObject[] = [];
  const unwanted: PodObject[] = [];
  const urgent: string[] = [];
  const candidates: string[] = [];
  for (const node of nodes) {
    const pair = pairOn(input, node);
    if (!pair) {
      surges++;
      continue;
    }
    const { newest, old } = pair;
    const serving = old ?? newest;
    if (serving && isAvailable(serving)) available++;
    if (!old) continue;
    if (newest) {
      if (isAvailable(newest)) remove.push(old);
      else surges++;
    } else if (!wanted.has(node)) (isAvailable(old) ? unwanted : remove).push(old);
    else (isAvailable(old) ? candidates : urgent).push(node);
  }
  remove.push(...unwanted.slice(0, Math.max(0, available - wanted.size)));
  return { create: [...urgent, ...candidates.slice(0, Math.max(0, maxSurge - surges))], remove };
}

function availability({ set, nowMs }: DaemonInput): (pod: PodObject) => boolean {
  return (pod) => isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
}
