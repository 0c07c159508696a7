/** Service account tokens of a pod, renewed before they run out. */
import type { Clock } from "@keelson/core";
import type { IssuedToken, NodeApi, StoredPod } from "../api/api.ts";

const dayMs = 24 * 3_600_000;

interface Held extends IssuedToken {
  readonly lifetimeMs: number;
  /** By the wall clock and by the one that never jumps. */
  readonly issued: { readonly atMs: number; readonly monotonicMs: number };
}

export class TokenCache {
  readonly #api: NodeApi;
  readonly #clock: Clock;
  readonly #held = new Map<string, Held>();

  constructor(api: NodeApi, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  async get(pod: StoredPod, audience: string | undefined, expirationSeconds: number): Promise<string> {
    const key = `${audience ?? ""}\n${expirationSeconds}`;
    const held = this.#held.get(key);
    if (held !== undefined && !this.#isUsed(held, 0.8, dayMs)) return held.token;
    try {
      const issued = await this.#api.createToken({
        namespace: pod.metadata.namespace ?? "",
        serviceAccount: pod.spec.serviceAccountName || "default",
        audience,
        expirationSeconds,
        pod: { name: pod.metadata.name, uid: pod.metadata.uid },
      });
      this.#held.set(key, this.#hold(issued, expirationSeconds * 1000));
      return issued.token;
    } catch (error) {
      // An old token that still is valid serves better than none.
      if (held !== undefined && !this.#isUsed(held, 1)) return held.token;
      throw error;
    }
  }

  /** The server's clock may be ahead of ours or behind: then its time of expiry says little, and the age counts. */
  #hold(issued: IssuedToken, askedMs: number): Held {
    const atMs = this.#clock.now();
    const leftMs = issued.expiresAt - atMs;
    const lifetimeMs = leftMs > 0 ? Math.min(leftMs, askedMs) : askedMs;
    return { ...issued, lifetimeMs, issued: { atMs, monotonicMs: this.#clock.monotonic() } };
  }

  /**
   * Whether this share of its life is over, or it is as old as it may get. A wall clock that jumped has taken the
   * server's along where both are on one machine: ahead, and the token runs out sooner; back, and it was issued in the future.
   */
  #isUsed({ lifetimeMs, issued }: Held, share: number, longestMs = Number.POSITIVE_INFINITY): boolean {
    const allowedMs = Math.min(lifetimeMs * share, longestMs);
    const wallMs = this.#clock.now() - issued.atMs;
    const ageMs = this.#clock.monotonic() - issued.monotonicMs;
    return ageMs >= allowedMs || wallMs >= allowedMs || wallMs < 0;
  }
}
