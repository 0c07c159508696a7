/** What the agent does with members that differ, lag or are gone, and with names that exist. */

import { readAll } from "@keelson/kit";
import { MemoryStore } from "@keelson/kit/testing";
import { describe, expect, it } from "vitest";
import { copySnapshot } from "../../src/agent/copy.ts";
import { verifySnapshot } from "../../src/agent/verify.ts";
import { snapshotArchive } from "../../src/engine/snapshot-archive.ts";
import { chooseSource } from "../../src/engine/snapshot-source.ts";
import { FakeEtcd } from "./fake-etcd.ts";

const name = "default/prod/nightly-1";

function three(): FakeEtcd[] {
  const data = { keys: new Map([["a", "1"]]), revision: 7n, earlier: [] };
  return ["1", "2", "3"].map((id) => new FakeEtcd(data, { id, leader: "1", appliedIndex: BigInt(id) }));
}

async function copied(members = three()) {
  const store = new MemoryStore();
  const archive = snapshotArchive(store);
  const options = { archive, members, name, backupUid: "1", cluster: "prod", now: () => 0 };
  const manifest = await copySnapshot(options);
  const scratch = FakeEtcd.restored(await readAll(store.get(archive.contentKey(name))));
  return {
    store,
    archive,
    members,
    options,
    manifest,
    scratch,
    verify: { archive, name, scratch, members, pauseMs: 1, startMs: 3 },
  };
}

describe("the member that a snapshot is taken from", () => {
  it("is the follower that is furthest along", async () => {
    expect((await chooseSource(three())).status.memberId).toBe("3");
  });

  it("is the leader when no other answers, and never one that is partitioned or a learner", async () => {
    const [leader, gone] = three() as [FakeEtcd, FakeEtcd, FakeEtcd];
    gone.down = true;
    const cutOff = new FakeEtcd(leader.data, { id: "8", appliedIndex: 99n });
    const learner = new FakeEtcd(leader.data, { id: "9", leader: "1", learner: true, appliedIndex: 99n });
    expect((await chooseSource([gone, cutOff, learner, leader])).status.memberId).toBe("1");
    await expect(chooseSource([gone, cutOff, learner])).rejects.toMatchObject({ code: "NoMember" });
  });
});

describe("a copy", () => {
  it("never overwrites what another backup has written", async () => {
    const { store, archive, options } = await copied();
    const before = new Map(store.objects);
    await expect(copySnapshot({ ...options, backupUid: "2" })).rejects.toMatchObject({ code: "NotOurs" });
    await expect(archive.remove(name, "2")).rejects.toMatchObject({ code: "NotOurs" });
    expect(store.objects).toEqual(before);
  });

  it("is reused by a later attempt", async () => {
    const { options, manifest, members } = await copied();
    expect(await copySnapshot(options)).toEqual(manifest);
    expect(members.reduce((sum, { snapshots }) => sum + snapshots, 0)).toBe(1);
  });
});

describe("verification", () => {
  it("stores what it has verified, once", async () => {
    const { verify, archive, manifest } = await copied();
    const proven = await verifySnapshot({ ...verify, now: () => 5 });
    expect(proven).toEqual({
      ...manifest,
      verified: expect.objectContaining({ revision: "7", keys: 1, compared: true }),
    });
    expect(await archive.read(name)).toEqual(proven);
    expect(await verifySnapshot({ ...verify, now: () => 9 })).toEqual(proven);
  });

  it("fails when the restored member differs from the cluster", async () => {
    const { verify, scratch, archive } = await copied();
    scratch.data.keys.set("a", "2");
    await expect(verifySnapshot(verify)).rejects.toMatchObject({ code: "ContentDiffers" });
    expect((await archive.read(name)).verified).toBeUndefined();
  });

  it("fails when only the member that it was taken from has the same data", async () => {
    const [first, second] = three() as [FakeEtcd, FakeEtcd];
    const wrong = { keys: new Map([["a", "rotten"]]), revision: 7n };
    const third = new FakeEtcd(wrong, { id: "3", leader: "1", appliedIndex: 3n });
    const { verify, archive } = await copied([first, second, third]);
    await expect(verifySnapshot(verify)).rejects.toMatchObject({ code: "ContentDiffers" });
    expect((await archive.read(name)).verified).toBeUndefined();
  });

  it("succeeds when a member that it was not taken from differs from the majority", async () => {
    const [, second, third] = three() as [FakeEtcd, FakeEtcd, FakeEtcd];
    const wrong = { keys: new Map([["a", "rotten"]]), revision: 7n };
    const first = new FakeEtcd(wrong, { id: "1", leader: "1", appliedIndex: 1n });
    const { verify } = await copied([first, second, third]);
    expect((await verifySnapshot(verify)).verified).toMatchObject({ compared: true });
  });

  it("succeeds when a lease has expired in the restored member, and the cluster did something else", async () => {
    const { verify, scratch, members } = await copied();
    scratch.expire("a");
    await members[0]?.put("b", "2");
    const { verified } = await verifySnapshot(verify);
    expect(verified).toMatchObject({ revision: "7", compared: true });
  });

  it("fails when the restored member lacks what was acknowledged before the snapshot began", async () => {
    const { verify, scratch } = await copied();
    scratch.data.revision = 6n;
    await expect(verifySnapshot(verify)).rejects.toMatchObject({ code: "ContentDiffers" });
  });

  it("reports that it could not compare when the cluster has compacted since, or is gone", async () => {
    const { verify, members } = await copied();
    for (const member of members) member.compactRevision = 5n;
    expect((await verifySnapshot(verify)).verified).toMatchObject({ compared: false, keys: 1 });
    const again = await copied();
    for (const member of again.members) member.down = true;
    expect((await verifySnapshot(again.verify)).verified).toMatchObject({ compared: false });
  });

  it("fails when the restored member does not serve", async () => {
    const { verify, scratch } = await copied();
    scratch.down = true;
    await expect(verifySnapshot(verify)).rejects.toMatchObject({ code: "RestoreFailed" });
  });
});
