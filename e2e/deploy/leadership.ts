/** Who leads, moment by moment: what a handover costs. */
import type { Client } from "@keelson/client";
import { Lease } from "keelson/kinds";

export interface Handover {
  readonly from: string;
  readonly to: string;
  /** From the moment that the old leader gave up, or was last seen leading, until another led. */
  readonly gapMs: number;
}

/** Watches a Lease until it is told to stop, and says which handovers it saw. */
export function watchLeadership(client: Client, lease: { namespace: string; name: string }) {
  const stop = new AbortController();
  const handovers: Handover[] = [];
  let holder = "";
  let freeSince: number | undefined;
  const watching = (async () => {
    while (!stop.signal.aborted) {
      const found = await client
        .kind(Lease)
        .find(lease, { signal: stop.signal })
        .catch(() => undefined);
      const now = performance.now();
      const current = found?.spec?.holderIdentity ?? "";
      if (current === "" && holder !== "") freeSince ??= now;
      if (current !== "" && current !== holder) {
        if (holder !== "") handovers.push({ from: holder, to: current, gapMs: now - (freeSince ?? now) });
        holder = current;
        freeSince = undefined;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  return {
    get holder() {
      return holder;
    },
    stop: async (): Promise<readonly Handover[]> => {
      stop.abort();
      await watching;
      return handovers;
    },
  };
}
