/** On real processes: no space, doubt about data, free space, larger volumes, pause and hibernation. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { EtcdGateway } from "@keelson/etcd-operator";
import { forwardConnector } from "keelson";
import { PersistentVolumeClaim, Pod } from "keelson/kinds";
import { commandLine } from "../../scripts/command-line.ts";
import { eventually } from "../operator/eventually.ts";
import { say } from "./setting.ts";
import { namespace, Stage } from "./stage.ts";

const [version = "3.6.16"] = commandLine({
  command: "node --conditions=keelson-source e2e/etcd-features/upkeep.ts",
  does: "Upkeep of real etcd: no space, corruption, defragmentation, larger volumes, pause, hibernation.",
  words: "[VERSION]",
}).words;
const name = "kept";
const quotaBytes = 32 * 1024 * 1024;
await using world = await Stage.start(say);
await world.create(name, { size: 3, version, storage: { size: "1Gi", quotaBytes } });
await world.whenReady(name, 3, 180_000);
say(`etcd ${version}: three members with a quota of ${quotaBytes} bytes`);

const on = async <T>(pod: string, work: (at: { host: string; port: number }) => Promise<T>) => {
  await using link = await forwardConnector(world.client)({ pod: { namespace, name: pod } }, 2379, {
    namespace,
    signal: AbortSignal.timeout(120_000),
  });
  return await work(link);
};
const pods = async () => await world.incarnations(name);
const leader = async () => (await world.get(name)).status?.leader ?? "";
const before = await pods();

{
  const refused = await on(await leader(), async (at) => {
    const etcd = new EtcdGateway(at);
    for (let i = 0; i < 100; i++) {
      try {
        await etcd.put("large", "x".repeat(1_000_000));
      } catch (error) {
        return (error as { code?: string }).code;
      }
    }
    return undefined;
  });
  assert.equal(refused, "NoSpace");
  const startMs = performance.now();
  await eventually(
    "etcd takes writes again",
    60_000,
    async () =>
      await on(await leader(), async (at) => {
        await new EtcdGateway(at).put("small", "x");
        return true;
      }),
    async () => JSON.stringify((await world.get(name)).status?.conditions),
  );
  say(`NOSPACE: writable again after ${Math.round(performance.now() - startMs)} ms`);
  assert.deepEqual(await pods(), before, "no member was restarted");
}

{
  const { status } = await world.get(name);
  const follower = status?.members?.find(({ role }) => role === "Follower");
  const startMs = performance.now();
  await on(await leader(), (at) => raise(at, BigInt(`0x${follower?.id}`).toString()));
  await eventually(
    "the alarm is lifted",
    60_000,
    async () => (await on(await leader(), (at) => new EtcdGateway(at).alarms())).length === 0,
    async () => JSON.stringify((await world.get(name)).status),
  );
  say(`CORRUPT: hashes compared and the alarm lifted after ${Math.round(performance.now() - startMs)} ms`);
  assert.deepEqual(await pods(), before, "no member was replaced: all hashes are equal");
  await world.whenReady(name, 3, 60_000);
}

{
  await on(await leader(), async (at) => {
    const etcd = new EtcdGateway(at);
    for (let i = 0; i < 20; i++) await etcd.put("large", "x".repeat(1_000_000));
    await etcd.put("large", "");
    await etcd.compact((await etcd.status()).revision);
  });
  const sizes = async () =>
    await Promise.all(
      [0, 1, 2].map((i) =>
        on(`${name}-${i}`, async (at) => Number((await new EtcdGateway(at).status()).dbSizeBytes)),
      ),
    );
  const large = await sizes();
  await world.change(name, { defragmentation: { schedule: "* * * * *", minReclaimableBytes: 1_000_000 } });
  await eventually(
    "free space is given back",
    150_000,
    async () => (await sizes()).every((size) => size < 5_000_000),
    async () => `${await sizes()} ${JSON.stringify((await world.get(name)).status)}`,
  );
  say(`defragmented: ${large.join(", ")} bytes became ${(await sizes()).join(", ")}`);
  assert.deepEqual(await pods(), before, "no member was restarted");
  await world.change(name, { defragmentation: null });
}

{
  await world.change(name, { storage: { size: "2Gi" } });
  const claims = async () => (await world.client.kind(PersistentVolumeClaim).list({ namespace })).items;
  await eventually(
    "every volume is larger",
    120_000,
    async () => (await claims()).every(({ status }) => status?.capacity?.["storage"] === "2Gi"),
    async () =>
      JSON.stringify([
        (await world.get(name)).status?.conditions,
        (await claims()).map(({ spec, status }) => [spec?.resources, status]),
      ]),
  );
  await world.whenReady(name, 3, 60_000);
  say("volumes have grown");
}

{
  const member = { namespace, name: `${name}-0` };
  const gone = async () => (await world.client.kind(Pod).find(member)) === undefined;
  await world.change(name, { paused: true });
  await eventually("it is paused", 20_000, async () => (await world.get(name)).status?.phase === "Paused");
  await world.client.kind(Pod).delete(member);
  await eventually("its pod is gone", 60_000, gone);
  await sleep(5_000);
  assert.ok(await gone());
  await world.change(name, { paused: false });
  await world.whenReady(name, 3, 60_000);
  say("paused: hands off; and then healed");
}

{
  const { status } = await world.get(name);
  await world.change(name, { hibernate: true });
  await eventually("no pod runs", 60_000, async () => (await pods()).length === 0);
  await eventually("it says so", 20_000, async () => (await world.get(name)).status?.phase === "Hibernated");
  await world.change(name, { hibernate: false });
  await world.whenReady(name, 3, 120_000);
  const after = (await world.get(name)).status;
  assert.equal(after?.clusterId, status?.clusterId);
  assert.deepEqual(
    after?.members?.map(({ id }) => id),
    status?.members?.map(({ id }) => id),
  );
  assert.equal((await on(await leader(), (at) => new EtcdGateway(at).get("small"))).value, "x");
  say("hibernated and woken: the same members with the same data");
}

/** What a member that doubts its data does. */
async function raise(at: { host: string; port: number }, memberID: string): Promise<void> {
  const body = JSON.stringify({ action: "ACTIVATE", memberID, alarm: "CORRUPT" });
  await new Promise<void>((resolve, reject) => {
    request({ ...at, path: "/v3/maintenance/alarm", method: "POST" }, (response) => {
      response.resume().on("end", resolve);
    })
      .on("error", reject)
      .end(body);
  });
}
