import { resolve } from "node:path";
import { describe, it } from "vitest";
import type { WebhookCaller } from "../../src/contracts/webhook.ts";
import { embeddedPlayer } from "../validation/players.ts";
import { expectRecorded } from "../validation/recorded.ts";
import { play } from "../validation/story.ts";
import { nodes } from "./nodes.ts";
import { plugins } from "./plugins.ts";
import { podSecurity } from "./pod-security.ts";
import { policies } from "./policies.ts";
import { answer } from "./webhook-answers.ts";
import { webhooks } from "./webhooks.ts";

const file = (name: string): string => resolve(import.meta.dirname, `${name}.recorded.json`);

describe("admission, as the real server does it", () => {
  it("limits, rations, completes and refuses what is created", async () => {
    await using player = await embeddedPlayer();
    expectRecorded(await play(plugins, player), file("plugins"));
  });

  it("keeps pods within the security level of their namespace", async () => {
    await using player = await embeddedPlayer();
    expectRecorded(await play(podSecurity, player), file("pod-security"));
  });

  it("lets nodes read and write what concerns them", async () => {
    await using player = await embeddedPlayer(undefined, {
      "authorization-mode": "Node,RBAC",
      "enable-admission-plugins": "NodeRestriction",
    });
    expectRecorded(await play(nodes, player), file("nodes"));
  });

  it("follows policies", { timeout: 60_000 }, async () => {
    await using player = await embeddedPlayer();
    expectRecorded(await play(policies, player), file("policies"));
  });

  it("asks webhooks and does as they say", { timeout: 60_000 }, async () => {
    const asked: unknown[] = [];
    const call: WebhookCaller = async (target, body, signal) => {
      const url = new URL(target.url);
      if (target.service) throw new Error(`service ${JSON.stringify(target.service.name)} not found`);
      asked.push({ url: `${url.pathname}${url.search}`, review: JSON.parse(body) });
      const said = answer(url.pathname, body);
      return (
        said ?? new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
      );
    };
    const place = { base: "https://webhooks", authority: "", take: () => asked.splice(0) };
    await using player = await embeddedPlayer(call);
    expectRecorded(await play(webhooks(place), player), file("webhooks"));
  });
});
