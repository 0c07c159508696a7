/** Service account tokens of a pod, renewed before they run out. */
import type { Clock } from "@keelson/core";
import type { IssuedToken, NodeApi, StoredPod } from "../api.ts";

const dayMs = 24 * 3_600_000;

interface Held extends IssuedToken {
  readonly issuedAt: number;
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
    const now = this.#clock.now();
    if (held !== undefined && now < renewalAt(held)) return held.token;
    try {
      const issued = await this.#api.createToken({
        namespace: pod.metadata.namespace ?? "",
        serviceAccount: pod.spec.serviceAccountName || "default",
        audience,
        expirationSeconds,
        pod: { name: pod.metadata.name, uid: pod.metadata.uid },
      });
      this.#held.set(key, { ...issued, issuedAt: now });
      return issued.token;
    } catch (error) {
      // An old token that still is valid serves better than none.
      if (held !== undefined && now < held.expiresAt) return held.token;
      throw error;
    }
  }
}

/** At four fifths of its life, and never older than a day. */
export function renewalAt(token: { readonly issuedAt: number; readonly expiresAt: number }): number {
  const lifetime = token.expiresAt - token.issuedAt;
  return Math.min(token.issuedAt + lifetime * 0.8, token.issuedAt + dayMs);
}
