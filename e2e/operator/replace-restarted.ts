/** New pods for those that have restarted, so that the kubelet's back-off is not measured. */
import type { Client } from "@keelson/client";
import { Pod } from "keelson/kinds";
import { eventually } from "./eventually.ts";

/**
 * A container that ends again within minutes waits for the kubelet's back-off: what restarted gets a new pod. Resolves when
 * the new pods are ready. The new pods must get the same names.
 */
export async function replaceRestarted(
  client: Client,
  refs: readonly { readonly namespace: string; readonly name: string }[],
  options: { readonly force?: boolean } = {},
): Promise<void> {
  const pods = client.kind(Pod);
  for (const ref of refs) {
    const before = await pods.find(ref);
    const restarted = before?.status?.containerStatuses?.some(({ restartCount }) => restartCount > 0);
    if (before === undefined || !restarted) continue;
    await pods.delete(ref, options.force ? { gracePeriodSeconds: 0 } : undefined);
    await eventually(`${ref.name} has a new pod`, 120_000, async () => {
      const now = await pods.find(ref);
      const isReady = now?.status?.conditions?.some(
        ({ type, status }) => type === "Ready" && status === "True",
      );
      return now?.metadata.uid !== before.metadata.uid && isReady === true;
    });
  }
}
