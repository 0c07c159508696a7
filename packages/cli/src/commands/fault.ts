/** `keelson cluster fault …`: makes something go wrong in a running cluster, and undoes it. */

import type { ClusterFault, PodRef } from "@keelson/cluster/up";
import { buildCommand, buildRouteMap } from "@stricli/core";
import { PORT, wholeNumber } from "../whole-number.ts";

const ANY = { min: 0, max: Number.MAX_SAFE_INTEGER };
const cluster = { kind: "parsed", parse: String, brief: "Name of the cluster", default: "default" } as const;
const optional = <T>(brief: string, parse: (text: string) => T) =>
  ({ kind: "parsed", parse, brief, optional: true }) as const;

interface ClusterFlag {
  readonly name: string;
}

/** One positional argument, some flags, one fault. */
function fault<Flags extends object = object>(
  brief: string,
  argument: { readonly placeholder: string; readonly brief: string },
  flags: Record<string, unknown>,
  make: (what: string, flags: Flags) => ClusterFault,
) {
  return buildCommand<Flags & ClusterFlag, [string]>({
    docs: { brief },
    parameters: {
      flags: { name: cluster, ...flags } as never,
      positional: { kind: "tuple", parameters: [{ parse: String, ...argument }] },
    },
    async func(given, what) {
      const { injectFault } = await import("@keelson/cluster/up");
      await injectFault(make(what, given), given.name);
    },
  });
}

const pod = { placeholder: "pod", brief: "[namespace/]name of the pod" };
const node = { placeholder: "node", brief: "Name of the node" };
const container = { container: optional("Only this container", String) };
const volume = { volume: { kind: "parsed", parse: String, brief: "Name of the volume in the pod" } };

/** `name` is in the namespace `default`. */
function podOf(text: string): PodRef {
  const slash = text.indexOf("/");
  return slash < 0
    ? { namespace: "default", name: text }
    : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

const kill = fault<{ container?: string; signal?: NodeJS.Signals }>(
  "Signal a pod's containers. Default: SIGKILL",
  pod,
  { ...container, signal: optional("Such as SIGTERM", (text) => text as NodeJS.Signals) },
  (what, { container, signal }) => ({
    kind: "kill",
    pod: podOf(what),
    ...(container ? { container } : {}),
    ...(signal ? { signal } : {}),
  }),
);

const freezing = (brief: string, frozen: boolean) =>
  fault<{ container?: string }>(brief, pod, container, (what, { container }) => ({
    kind: "freeze",
    pod: podOf(what),
    frozen,
    ...(container ? { container } : {}),
  }));

const cut = fault<{ direction: "in" | "out" | "both"; peer?: string }>(
  "Cut a pod off: from everybody, or from one other pod; one way or both",
  pod,
  {
    direction: { kind: "enum", values: ["in", "out", "both"], brief: "What is lost", default: "both" },
    peer: optional("Only between the pod and this one", String),
  },
  (what, { direction, peer }) => ({
    kind: "cut",
    pod: podOf(what),
    direction,
    ...(peer ? { peer: podOf(peer) } : {}),
  }),
);

const delay = fault<{ ms: number; port?: number }>(
  "Delay new connections to a pod, each way; 0 undoes it",
  pod,
  {
    ms: { kind: "parsed", parse: wholeNumber(ANY), brief: "Milliseconds, each way" },
    port: optional("Only this port. Default: the declared ones", wholeNumber(PORT)),
  },
  (what, { ms, port }) => ({
    kind: "delay",
    pod: podOf(what),
    delayMs: ms,
    ...(port === undefined ? {} : { ports: [port] }),
  }),
);

const fillDisk = fault<{ volume: string; leave?: number }>(
  "Fill a pod's volume whose size is capped",
  pod,
  { ...volume, leave: optional("Bytes to leave free", wholeNumber(ANY)) },
  (what, { volume, leave }) => ({
    kind: "fillDisk",
    pod: podOf(what),
    volume,
    ...(leave === undefined ? {} : { leaveBytes: leave }),
  }),
);

const freeDisk = fault<{ volume: string }>("Free what fill-disk took", pod, volume, (what, { volume }) => ({
  kind: "freeDisk",
  pod: podOf(what),
  volume,
}));

const onNode = (brief: string, kind: "nodeDown" | "nodeUp" | "nodeCut" | "nodeMend") =>
  fault(brief, node, {}, (what) => ({ kind, node: what }));

const mend = buildCommand<ClusterFlag, [string?]>({
  docs: { brief: "Undo cuts: of one pod, or all" },
  parameters: {
    flags: { name: cluster },
    positional: { kind: "tuple", parameters: [{ parse: String, ...pod, optional: true }] },
  },
  async func({ name }, what) {
    const { injectFault } = await import("@keelson/cluster/up");
    await injectFault({ kind: "mend", ...(what === undefined ? {} : { pod: podOf(what) }) }, name);
  },
});

const api = (brief: string, frozen: boolean) =>
  buildCommand<ClusterFlag>({
    docs: { brief },
    parameters: { flags: { name: cluster } },
    async func({ name }) {
      const { injectFault } = await import("@keelson/cluster/up");
      await injectFault({ kind: "freezeApi", frozen }, name);
    },
  });

export const faults = buildRouteMap({
  routes: {
    kill,
    freeze: freezing("Stop every process of a pod where it is", true),
    thaw: freezing("Let a frozen pod go on", false),
    cut,
    mend,
    delay,
    fillDisk,
    freeDisk,
    loseVolume: fault(
      "Everything in a persistent volume is gone, as with its disk",
      { placeholder: "volume", brief: "Name of the PersistentVolume" },
      {},
      (what) => ({ kind: "loseVolume", volume: what }),
    ),
    nodeDown: onNode("A node loses power: no process of its pods survives, and nobody is told", "nodeDown"),
    nodeUp: onNode("A node that was down starts again", "nodeUp"),
    nodeCut: onNode("A node loses the API server; its pods run on", "nodeCut"),
    nodeMend: onNode("A node that was cut off reaches the API server again", "nodeMend"),
    apiDown: api("The API server and the controllers freeze", true),
    apiUp: api("The API server and the controllers go on", false),
  },
  docs: { brief: "Make something go wrong, and undo it" },
});
