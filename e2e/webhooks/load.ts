/** Requests that webhooks are asked about, at a steady rate, and what became of each. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@keelson/client";
import { ConfigMap } from "keelson/kinds";

/** How the webhooks of an entry are registered. */
export type Policy = "fail" | "ignore";

export interface Tally {
  sent: number;
  /** Refused because the webhook did not answer. */
  failed: number;
  /** Let through without being asked. */
  unseen: number;
  /** Bad ones that were let through though the webhook was asked, good ones that it refused. */
  wrong: number;
  /** The first failure, as a person would see it. */
  example: string;
}

/** Dry runs, good ones and bad ones in turn: webhooks are asked, and nothing is left. */
export async function load(
  client: Client,
  policy: Policy,
  { rate, seconds, label }: { rate: number; seconds: number; label: string },
): Promise<Tally> {
  const tally: Tally = { sent: 0, failed: 0, unseen: 0, wrong: 0, example: "" };
  const one = async (index: number) => {
    const bad = index % 2 === 1;
    const metadata = { namespace: "default", name: `${label}-${policy}-${index}`, labels: { policy } };
    const data: Record<string, string> = bad ? { bad: "yes" } : { good: "yes" };
    try {
      const made = await client
        .kind(ConfigMap)
        .create({ metadata, data }, { dryRun: true, timeoutMs: 20_000 });
      const asked = made.data?.["seen"] === "yes";
      if (!asked) tally.unseen++;
      // Let through without being asked is right only where failures are ignored.
      if ((asked && bad) || (!asked && policy === "fail")) tally.wrong++;
    } catch (error) {
      const refused = String(error).includes("this one is bad");
      if (refused && !bad) tally.wrong++;
      if (refused) return;
      tally.failed++;
      tally.example ||= String(error);
    }
  };
  const all: Promise<void>[] = [];
  const began = performance.now();
  for (let index = 0; index < rate * seconds; index++) {
    const waitMs = began + (index * 1000) / rate - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    tally.sent++;
    all.push(one(index));
  }
  await Promise.all(all);
  return tally;
}
