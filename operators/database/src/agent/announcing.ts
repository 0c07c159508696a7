/** As primary: pods are labelled and poolers told who is primary, so that clients find it. */
import type { Identity } from "../ha/observation.ts";
import type { LeaseRecord } from "../ha/state.ts";
import { othersIn } from "./others.ts";
import type { Clock, Log, Pods, Poolers } from "./ports.ts";

export interface AnnouncingOptions {
  readonly me: Identity;
  readonly pods: Pods;
  readonly poolers?: Poolers;
  readonly clock: Clock;
  readonly log: Log;
}

const pointEveryMs = 3_000;
const labelEveryMs = 5_000;

export class Announcing {
  readonly #options: AnnouncingOptions;
  /** When the pods were last given their labels, in this primaryship. */
  #labelledAtMs = Number.NEGATIVE_INFINITY;
  #pointed: { readonly epoch: number; readonly atMs: number } | undefined;

  constructor(options: AnnouncingOptions) {
    this.#options = options;
  }

  /** Another primaryship begins. */
  begin(): void {
    this.#labelledAtMs = Number.NEGATIVE_INFINITY;
  }

  /** At once when we become primary, and now and then for those that were started since. */
  pointPoolers({ policy, epoch }: LeaseRecord): void {
    const { poolers, clock } = this.#options;
    if (!policy.pooler || !poolers) return;
    const now = clock.monotonic();
    const isNew = this.#pointed?.epoch !== epoch;
    if (!isNew && now - (this.#pointed?.atMs ?? 0) < pointEveryMs) return;
    this.#pointed = { epoch, atMs: now };
    void poolers.point().catch(() => undefined);
  }

  /** At once when we become primary, and now and then: pods are made again, and people change labels. */
  async label(record: LeaseRecord): Promise<void> {
    const { me, pods, log, clock } = this.#options;
    if (clock.monotonic() - this.#labelledAtMs < labelEveryMs) return;
    try {
      await pods.label(me.name, othersIn(record, me.name));
      this.#labelledAtMs = clock.monotonic();
    } catch (error) {
      log.warn("the pods cannot be labelled", { error: (error as Error).message });
    }
  }
}
