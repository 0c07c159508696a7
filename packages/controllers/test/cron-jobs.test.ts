/** Cron jobs: what they start, what they remember and what they clear away. */
import type { Client } from "@keelson/client";
import { type Clock, type InputOf, systemClock } from "@keelson/core";
import { CronJob, Job, Pod } from "@keelson/core/kinds";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, embedded, onEveryControlPlane, until, untilEvent } from "./control-planes.ts";

const namespace = "default";

function cronJobOf(name: string, spec: Partial<InputOf<typeof CronJob>["spec"]>): InputOf<typeof CronJob> {
  return {
    metadata: { name, namespace },
    spec: {
      schedule: "@every 1s",
      jobTemplate: {
        metadata: { labels: { from: name }, annotations: { note: "kept" } },
        spec: {
          template: {
            metadata: { labels: { from: name } },
            spec: { restartPolicy: "Never", containers: [{ name: "main", image: "none" }] },
          },
        },
      },
      ...spec,
    },
  };
}

onEveryControlPlane("cron jobs", (start) => {
  let plane: ControlPlane;
  let client: Client;
  beforeAll(async () => {
    plane = await start();
    client = plane.client;
  });
  afterAll(() => plane?.[Symbol.asyncDispose]());

  async function started(
    name: string,
  ): Promise<InputOf<typeof Job> & { metadata: { name: string; uid: string } }> {
    const cronJob = await until(client, CronJob, { name, namespace }, (each) =>
      Boolean(each?.status?.active?.length),
    );
    const job = cronJob.status?.active?.[0]?.name ?? "";
    return await client.kind(Job).get({ name: job, namespace });
  }

  it("starts a job with its template, its time and its owner", async () => {
    const cronJob = await client
      .kind(CronJob)
      .create(cronJobOf("plain", { timeZone: "Asia/Kolkata", concurrencyPolicy: "Forbid" }));
    const job = await started("plain");
    const { status } = await client.kind(CronJob).get({ name: "plain", namespace });
    const minutes = Math.floor(Date.parse(status?.lastScheduleTime ?? "") / 60_000);
    expect(job.metadata.name).toBe(`plain-${minutes}`);
    expect(job.metadata).toMatchObject({
      labels: { from: "plain" },
      annotations: { note: "kept" },
      ownerReferences: [
        {
          apiVersion: "batch/v1",
          kind: "CronJob",
          name: "plain",
          uid: cronJob.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
    const time = job.metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"] ?? "";
    expect(time).toMatch(/\+05:30$/);
    expect(status?.active).toEqual([
      {
        apiVersion: "batch/v1",
        kind: "Job",
        name: job.metadata.name,
        namespace,
        uid: job.metadata.uid,
        resourceVersion: expect.any(String),
      },
    ]);
    expect(await untilEvent(client, cronJob, "SuccessfulCreate")).toBe(`Created job ${job.metadata.name}`);
    await client.kind(CronJob).delete({ name: "plain", namespace });
  });

  it("remembers a success, and keeps no more history than it should", async () => {
    const made = await client
      .kind(CronJob)
      .create(cronJobOf("short", { successfulJobsHistoryLimit: 1, concurrencyPolicy: "Forbid" }));
    const job = await started("short");
    await client
      .kind(CronJob)
      .patch({ name: "short", namespace }, { type: "merge", body: { spec: { suspend: true } } });
    const selector = { namespace, labels: "from=short" };
    let pod = (await client.kind(Pod).list(selector)).items[0];
    for await (const event of client.kind(Pod).watch({ ...selector, initialEvents: true, bookmarks: true })) {
      if (event.type === "error" || event.type === "bookmark") continue;
      pod = event.object;
      break;
    }
    await client
      .kind(Pod)
      .subresource("status")
      .patch(
        { name: pod?.metadata.name ?? "", namespace },
        { type: "merge", body: { status: { phase: "Succeeded" } } },
      );
    const cronJob = await until(client, CronJob, { name: "short", namespace }, (each) =>
      Boolean(each?.status?.lastSuccessfulTime),
    );
    expect(cronJob.status?.active).toBeUndefined();
    expect(await untilEvent(client, made, "SawCompletedJob")).toBe(
      `Saw completed job: ${job.metadata.name}, condition: Complete`,
    );
    const body = { spec: { successfulJobsHistoryLimit: 0 } };
    await client.kind(CronJob).patch({ name: "short", namespace }, { type: "merge", body });
    await until(client, Job, { name: job.metadata.name, namespace }, (each) => each === undefined);
    expect(await untilEvent(client, made, "SuccessfulDelete")).toBe(`Deleted job ${job.metadata.name}`);
  });

  it("starts nothing while suspended, and goes on afterwards", async () => {
    await client.kind(CronJob).create(cronJobOf("still", { suspend: true }));
    await client.kind(CronJob).create(cronJobOf("running", {}));
    await started("running");
    const still = await client.kind(CronJob).get({ name: "still", namespace });
    expect(still.status?.lastScheduleTime).toBeUndefined();
    await client
      .kind(CronJob)
      .patch({ name: "still", namespace }, { type: "merge", body: { spec: { suspend: false } } });
    await started("still");
    await client.kind(CronJob).delete({ name: "still", namespace });
    await client.kind(CronJob).delete({ name: "running", namespace });
  });

  it("says that an active job went missing", async () => {
    const made = await client.kind(CronJob).create(cronJobOf("robbed", { concurrencyPolicy: "Forbid" }));
    const job = await started("robbed");
    await client
      .kind(CronJob)
      .patch({ name: "robbed", namespace }, { type: "merge", body: { spec: { suspend: true } } });
    await client.kind(Job).delete({ name: job.metadata.name, namespace }, { propagation: "Background" });
    await until(client, CronJob, { name: "robbed", namespace }, (each) => !each?.status?.active?.length);
    expect(await untilEvent(client, made, "MissingJob")).toBe(
      `Active job went missing: ${job.metadata.name}`,
    );
  });
});

/** A minute passes in a second. */
function hastyClock(): Clock {
  const startMs = Date.now();
  return {
    now: () => startMs + (Date.now() - startMs) * 60,
    monotonic: () => systemClock.monotonic() * 60,
    timer: (delayMs, run) => systemClock.timer(delayMs / 60, run),
  };
}

describe("a cron job whose job still runs when the next is due", () => {
  it("replaces it, or lets it be, as its policy says", async () => {
    await using plane = await embedded(hastyClock());
    const { client } = plane;
    const replacing = cronJobOf("replacing", { schedule: "* * * * *", concurrencyPolicy: "Replace" });
    const forbidding = cronJobOf("forbidding", { schedule: "* * * * *", concurrencyPolicy: "Forbid" });
    const replaced = await client.kind(CronJob).create(replacing);
    const forbidden = await client.kind(CronJob).create(forbidding);
    const activeOf = async (name: string, accept: (job: string | undefined) => boolean) => {
      const found = await until(client, CronJob, { name, namespace }, (each) => {
        const active = each?.status?.active ?? [];
        return active.length > 0 && accept(active[0]?.name);
      });
      return found.status?.active?.map((each) => each.name) ?? [];
    };
    const [first] = await activeOf("replacing", () => true);
    const later = await activeOf("replacing", (job) => job !== first);
    expect(later).toHaveLength(1);
    expect(await untilEvent(client, replaced, "SuccessfulDelete")).toBe(`Deleted job ${first}`);
    expect(await untilEvent(client, forbidden, "JobAlreadyActive")).toBe(
      "Not starting job because prior execution is running and concurrency policy is Forbid",
    );
    expect((await client.kind(Job).list({ namespace, labels: "from=forbidding" })).items).toHaveLength(1);
  });
});
