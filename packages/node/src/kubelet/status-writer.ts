/** Sends pod statuses: per pod one request at a time, always the newest, nothing when nothing changed. */
import { type Cancel, type Clock, deepEqual, type JsonObject, type JsonValue } from "@keelson/core";
import type { PodStatus } from "@keelson/core/kinds";
import type { NodeApi, StoredPod } from "../api/api.ts";
import { kubeletConditions } from "./pod-conditions.ts";

interface Entry {
  /** What we last computed. */
  wanted: PodStatus;
  pod: StoredPod;
  /** What the server last confirmed. */
  sent: PodStatus | undefined;
  /** The newest version of the pod that it is an answer to or has become. */
  sentVersion: bigint;
  sending: boolean;
  /** Of the last round of sending. */
  done: Promise<void>;
  failures: number;
  /** Settles when nobody wants to know any more. */
  readonly forgotten: PromiseWithResolvers<void>;
}

const retryMs = 1_000;

export class StatusWriter {
  readonly #api: NodeApi;
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  readonly #entries = new Map<string, Entry>();

  constructor(options: { api: NodeApi; clock: Clock; log: (message: string) => void }) {
    this.#api = options.api;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** The status we last wrote or are about to write. */
  last(uid: string): PodStatus | undefined {
    return this.#entries.get(uid)?.wanted;
  }

  write(pod: StoredPod, status: PodStatus): void {
    const uid = pod.metadata.uid;
    const entry: Entry = this.#entries.get(uid) ?? {
      ...{ wanted: status, pod, sent: undefined, sentVersion: 0n, sending: false, failures: 0 },
      done: Promise.resolve(),
      forgotten: Promise.withResolvers<void>(),
    };
    entry.wanted = status;
    entry.pod = pod;
    this.#entries.set(uid, entry);
    if (entry.sending) return;
    entry.sending = true;
    entry.done = this.#send(uid, entry);
  }

  /** Resolves when the newest status has been sent, or its pod is gone or forgotten. */
  async flush(uid: string): Promise<void> {
    const entry = this.#entries.get(uid);
    if (entry !== undefined) await Promise.race([entry.done, entry.forgotten.promise]);
  }

  /** Gives up what is still to be sent, at once. */
  forget(uid: string): void {
    this.#entries.get(uid)?.forgotten.resolve();
    this.#entries.delete(uid);
  }

  async #send(uid: string, entry: Entry): Promise<void> {
    for (;;) {
      const status = entry.wanted;
      const patch = statusPatch(standing(entry), status);
      if (patch === undefined || this.#entries.get(uid) !== entry) break;
      try {
        const answer = await this.#api.patchPodStatus(entry.pod, patch);
        entry.failures = 0;
        if (answer === undefined) break;
        entry.sent = status;
        entry.sentVersion = versionOf(newer(entry.pod, answer));
      } catch (error) {
        const { namespace, name } = entry.pod.metadata;
        this.#log(`cannot write the status of pod ${namespace}/${name}: ${String(error)}`);
        entry.failures++;
        const delay = Math.min(retryMs * 2 ** (entry.failures - 1), 30_000);
        await this.#pause(delay, entry);
      }
    }
    // In the same breath as the look above: a status written in between would be lost.
    entry.sending = false;
  }

  async #pause(delayMs: number, { forgotten }: Entry): Promise<void> {
    let cancel: Cancel = () => undefined;
    const passed = new Promise<void>((resolve) => {
      cancel = this.#clock.timer(delayMs, resolve);
    });
    await Promise.race([passed, forgotten.promise]);
    cancel();
  }
}

/**
 * What stands at the server: what we sent, unless the pod as we see it is newer and says otherwise. The node
 * lifecycle controller calls pods not ready when it has not heard of their node, and nobody but us takes that back.
 */
function standing({ pod, sent, sentVersion }: Entry): PodStatus {
  const told = pod.status ?? {};
  if (sent === undefined) return told;
  if (versionOf(pod) <= sentVersion) return sent;
  // How others write down the same thing is no difference.
  const conditions = sent.conditions?.flatMap((condition) => {
    const now = told.conditions?.find(({ type }) => type === condition.type);
    if (!now) return [];
    return [now.status === condition.status ? condition : now];
  });
  return { ...sent, ...(conditions === undefined ? {} : { conditions }) };
}

function newer(a: StoredPod, b: StoredPod): StoredPod {
  return versionOf(a) > versionOf(b) ? a : b;
}

function versionOf({ metadata }: StoredPod): bigint {
  return BigInt(metadata.resourceVersion);
}

/** The fields that differ, as a strategic merge patch: conditions merge by type, so others' stay. */
export function statusPatch(before: PodStatus, after: PodStatus): JsonObject | undefined {
  const patch: JsonObject = {};
  const old = before as JsonObject;
  const next = after as JsonObject;
  for (const key of new Set([...Object.keys(ours(old)), ...Object.keys(next)])) {
    const value = next[key];
    if (deepEqual(old[key] ?? null, value ?? null)) continue;
    const merged = merges[key];
    patch[key] = merged === undefined ? (value ?? null) : merged(asList(old[key]), asList(value));
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

type Item = JsonObject;

/** Lists that the server merges by a key instead of replacing them: what a patch does not mention stays. */
const merges: Readonly<Record<string, (before: readonly Item[], after: readonly Item[]) => JsonValue>> = {
  /** A reason that no longer holds must be taken away by name, and so must a condition of ours. */
  conditions: (before, after) => [
    ...after.map((condition) => {
      const known = before.find(({ type }) => type === condition.type) ?? {};
      const gone = ["reason", "message"].filter(
        (key) => known[key] !== undefined && condition[key] === undefined,
      );
      return { ...condition, ...Object.fromEntries(gone.map((key) => [key, null])) };
    }),
    ...before
      .filter(({ type }) => kubeletConditions.has(String(type)) && !after.some((one) => one.type === type))
      .map(({ type }) => ({ $patch: "delete", type: type ?? "" })),
  ],
  /** So must an address that the pod no longer has. */
  podIPs: (before, after) => [
    ...after,
    ...before
      .filter(({ ip }) => !after.some((one) => one.ip === ip))
      .map(({ ip }) => ({ $patch: "delete", ip: ip ?? "" })),
  ],
};

function asList(value: JsonValue | undefined): Item[] {
  return (value ?? []) as Item[];
}

/** Fields that the kubelet owns and may take away. */
const owned = new Set([
  "reason",
  "message",
  "podIP",
  "podIPs",
  "initContainerStatuses",
  "ephemeralContainerStatuses",
]);

function ours(status: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(status).filter(([key]) => owned.has(key)));
}
