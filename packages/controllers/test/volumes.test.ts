/** Claims and volumes: what binds, what waits, what is lost, and what is left behind. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@keelson/client";
import type { InputOf } from "@keelson/core";
import {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeAttributesClass,
} from "@keelson/core/kinds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, onEveryControlPlane, until, untilEvent } from "./control-planes.ts";

const namespace = "default";

function claimOf(
  name: string,
  { storage = "1Gi", storageClassName = "manual", ...rest }: Record<string, string> = {},
): InputOf<typeof PersistentVolumeClaim> {
  return {
    metadata: { name, namespace },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } }, storageClassName, ...rest },
  };
}

function volumeOf(
  name: string,
  { storage = "1Gi", storageClassName = "manual" }: Record<string, string> = {},
): InputOf<typeof PersistentVolume> {
  return {
    metadata: { name },
    spec: {
      capacity: { storage },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName,
      hostPath: { path: `/mnt/${name}` },
    },
  };
}

function nodeOf(name: string, containerRuntimeVersion: string): InputOf<typeof Node> {
  const nodeInfo = {
    architecture: "amd64",
    bootID: "",
    containerRuntimeVersion,
    kernelVersion: "",
    kubeProxyVersion: "",
    kubeletVersion: "",
    machineID: "",
    operatingSystem: "linux",
    osImage: "",
    systemUUID: "",
  };
  return { metadata: { name }, status: { nodeInfo } };
}

async function phaseOf(client: Client, name: string, phase: string) {
  return await until(client, PersistentVolume, { name }, (volume) => volume?.status?.phase === phase);
}

async function claimPhase(client: Client, name: string, phase: string) {
  return await until(
    client,
    PersistentVolumeClaim,
    { name, namespace },
    (claim) => claim?.status?.phase === phase,
  );
}

onEveryControlPlane("volumes", (start, which) => {
  let plane: ControlPlane;
  let client: Client;
  beforeAll(async () => {
    plane = await start();
    client = plane.client;
  });
  afterAll(() => plane?.[Symbol.asyncDispose]());

  it("gives a claim the smallest volume that fits, and marks both", async () => {
    await client.kind(PersistentVolume).create(volumeOf("large", { storage: "10Gi" }));
    await client.kind(PersistentVolume).create(volumeOf("medium", { storage: "5Gi" }));
    await client.kind(PersistentVolume).create(volumeOf("small", { storage: "1Gi" }));
    await Promise.all(["large", "medium", "small"].map((name) => phaseOf(client, name, "Available")));
    const made = await client.kind(PersistentVolumeClaim).create(claimOf("fits", { storage: "2Gi" }));
    const claim = await claimPhase(client, "fits", "Bound");
    expect(claim.spec.volumeName).toBe("medium");
    expect(claim.status).toEqual({
      phase: "Bound",
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "5Gi" },
    });
    expect(claim.metadata.annotations).toEqual({
      "pv.kubernetes.io/bind-completed": "yes",
      "pv.kubernetes.io/bound-by-controller": "yes",
    });
    expect(claim.metadata.finalizers).toEqual(["kubernetes.io/pvc-protection"]);
    const volume = await phaseOf(client, "medium", "Bound");
    expect(volume.metadata.annotations).toEqual({ "pv.kubernetes.io/bound-by-controller": "yes" });
    expect(volume.spec.claimRef).toMatchObject({ name: "fits", namespace, uid: made.metadata.uid });
    expect((await client.kind(PersistentVolume).get({ name: "large" })).spec.claimRef).toBeUndefined();
  });

  it("keeps a class of attributes for as long as a claim names it", async () => {
    const name = "quick";
    await client
      .kind(VolumeAttributesClass)
      .create({ metadata: { name }, driverName: "none", parameters: { a: "b" } });
    await client
      .kind(PersistentVolumeClaim)
      .create(claimOf("attributed", { storageClassName: "nowhere", volumeAttributesClassName: name }));
    await client.kind(VolumeAttributesClass).delete({ name });
    const kept = await client.kind(VolumeAttributesClass).get({ name });
    expect(kept.metadata.finalizers).toEqual(["kubernetes.io/vac-protection"]);
    await client.kind(PersistentVolumeClaim).delete({ name: "attributed", namespace });
    await until(client, VolumeAttributesClass, { name }, (found) => found === undefined);
  });

  it("completes a bond that a person asked for by name, without the mark of its own choice", async () => {
    await client.kind(PersistentVolume).create(volumeOf("chosen", { storageClassName: "by-name" }));
    await client
      .kind(PersistentVolumeClaim)
      .create(claimOf("choosy", { storageClassName: "by-name", volumeName: "chosen" }));
    const claim = await claimPhase(client, "choosy", "Bound");
    expect(claim.metadata.annotations).toEqual({ "pv.kubernetes.io/bind-completed": "yes" });
  });

  it("says why a volume that was asked for by name does not do", async () => {
    await client.kind(PersistentVolume).create(volumeOf("tiny", { storageClassName: "by-size" }));
    const made = await client
      .kind(PersistentVolumeClaim)
      .create(claimOf("hungry", { storage: "2Gi", storageClassName: "by-size", volumeName: "tiny" }));
    const message = await untilEvent(client, made, "VolumeMismatch");
    expect(message).toBe('Cannot bind to requested volume "tiny": requested PV is too small');
    await claimPhase(client, "hungry", "Pending");
  });

  it("keeps a retained volume as released when its claim goes, and gives it to nobody", async () => {
    await client.kind(PersistentVolume).create(volumeOf("kept", { storageClassName: "retained" }));
    await client.kind(PersistentVolumeClaim).create(claimOf("first", { storageClassName: "retained" }));
    await claimPhase(client, "first", "Bound");
    await client.kind(PersistentVolumeClaim).delete({ name: "first", namespace });
    await phaseOf(client, "kept", "Released");
    await client.kind(PersistentVolumeClaim).create(claimOf("second", { storageClassName: "retained" }));
    const message = await untilEvent(
      client,
      await client.kind(PersistentVolumeClaim).get({ name: "second", namespace }),
      "ProvisioningFailed",
    );
    expect(message).toBe('storageclass.storage.k8s.io "retained" not found');
  });

  it("calls a claim lost when its volume is removed under it", async () => {
    await client.kind(PersistentVolume).create(volumeOf("fragile", { storageClassName: "fragile" }));
    await client.kind(PersistentVolumeClaim).create(claimOf("bereft", { storageClassName: "fragile" }));
    await claimPhase(client, "bereft", "Bound");
    await client.kind(PersistentVolume).delete({ name: "fragile" });
    await client
      .kind(PersistentVolume)
      .patch({ name: "fragile" }, { type: "merge", body: { metadata: { finalizers: null } } });
    const claim = await claimPhase(client, "bereft", "Lost");
    expect(claim.status).toEqual({ phase: "Lost" });
    expect(await untilEvent(client, claim, "ClaimLost")).toBe(
      "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
    );
  });

  it("waits for the first consumer where the class says so", async () => {
    await client.kind(StorageClass).create({
      metadata: { name: "late" },
      provisioner: "example.com/none",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    const made = await client
      .kind(PersistentVolumeClaim)
      .create(claimOf("patient", { storageClassName: "late" }));
    expect(await untilEvent(client, made, "WaitForFirstConsumer")).toBe(
      "waiting for first consumer to be created before binding",
    );
  });

  it("asks a foreign provisioner by marking the claim", async () => {
    await client
      .kind(StorageClass)
      .create({ metadata: { name: "foreign" }, provisioner: "example.com/foreign" });
    await client.kind(PersistentVolumeClaim).create(claimOf("asking", { storageClassName: "foreign" }));
    const claim = await until(client, PersistentVolumeClaim, { name: "asking", namespace }, (object) =>
      Boolean(object?.metadata.annotations?.["volume.kubernetes.io/storage-provisioner"]),
    );
    expect(claim.metadata.annotations).toEqual({
      "volume.beta.kubernetes.io/storage-provisioner": "example.com/foreign",
      "volume.kubernetes.io/storage-provisioner": "example.com/foreign",
    });
    expect(await untilEvent(client, claim, "ExternalProvisioning")).toMatch(
      /^Waiting for a volume to be created either by the external provisioner 'example.com\/foreign' or/,
    );
  });

  it("keeps a claim while a pod on a node uses it, and not longer", async () => {
    await client.kind(PersistentVolume).create(volumeOf("busy", { storageClassName: "busy" }));
    await client.kind(PersistentVolumeClaim).create(claimOf("busy", { storageClassName: "busy" }));
    await claimPhase(client, "busy", "Bound");
    await client.kind(Pod).create({
      metadata: { name: "user", namespace },
      spec: {
        nodeName: "anywhere",
        containers: [{ name: "main", image: "none" }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "busy" } }],
      },
    });
    await client.kind(PersistentVolumeClaim).delete({ name: "busy", namespace });
    const held = await client.kind(PersistentVolumeClaim).get({ name: "busy", namespace });
    expect(held.metadata.deletionTimestamp).toBeDefined();
    await client.kind(Pod).delete({ name: "user", namespace }, { gracePeriodSeconds: 0 });
    await until(client, PersistentVolumeClaim, { name: "busy", namespace }, (claim) => claim === undefined);
  });

  it("makes the claim of a generic ephemeral volume, owned by its pod", async () => {
    const pod = await client.kind(Pod).create({
      metadata: { name: "scratch", namespace },
      spec: {
        containers: [{ name: "main", image: "none" }],
        volumes: [
          {
            name: "data",
            ephemeral: {
              volumeClaimTemplate: {
                metadata: { labels: { made: "for-pod" } },
                spec: {
                  accessModes: ["ReadWriteOnce"],
                  storageClassName: "manual",
                  resources: { requests: { storage: "1Gi" } },
                },
              },
            },
          },
        ],
      },
    });
    const ref = { name: "scratch-data", namespace };
    const claim = await until(client, PersistentVolumeClaim, ref, (object) => object !== undefined);
    expect(claim.metadata.labels).toEqual({ made: "for-pod" });
    expect(claim.metadata.ownerReferences).toEqual([
      {
        apiVersion: "v1",
        kind: "Pod",
        name: "scratch",
        uid: pod.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });

  if (which === "real") return;

  it("has the class of our volumes from our first node on", async () => {
    await client.kind(Node).create(nodeOf("theirs", "containerd://2.0.0"));
    // The taint that it was born with goes when the controllers have seen it.
    await until(client, Node, { name: "theirs" }, (node) => node !== undefined && !node.spec?.taints);
    expect(await client.kind(StorageClass).find({ name: "standard" })).toBeUndefined();
    await client.kind(Node).create(nodeOf("ours", "keelson://0.1.0"));
    const made = await until(client, StorageClass, { name: "standard" }, (object) => object !== undefined);
    expect(made.provisioner).toBe("keelson.dev/local");
  });

  it("makes a volume for a claim without a class, grows it, and removes its directory with it", async () => {
    const { volumes = "" } = plane;
    const ref = { name: "data", namespace };
    const made = await client.kind(PersistentVolumeClaim).create({
      metadata: ref,
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    const claim = await claimPhase(client, "data", "Bound");
    expect(claim.spec.storageClassName).toBe("standard");
    expect(claim.spec.volumeName).toBe(`pvc-${made.metadata.uid}`);
    const volume = await phaseOf(client, `pvc-${made.metadata.uid}`, "Bound");
    expect(volume.spec).toMatchObject({
      capacity: { storage: "1Gi" },
      persistentVolumeReclaimPolicy: "Delete",
      hostPath: { path: join(volumes, `pvc-${made.metadata.uid}_default_data`) },
    });
    expect(await untilEvent(client, claim, "ProvisioningSucceeded")).toBe(
      `Successfully provisioned volume ${volume.metadata.name}`,
    );
    const path = volume.spec.hostPath?.path ?? "";
    await mkdir(path, { recursive: true });
    await writeFile(join(path, "file"), "kept until the claim goes");

    const body = { spec: { resources: { requests: { storage: "2Gi" } } } };
    await client.kind(PersistentVolumeClaim).patch(ref, { type: "merge", body });
    const grown = await until(
      client,
      PersistentVolumeClaim,
      ref,
      (object) => object?.status?.capacity?.storage === "2Gi",
    );
    expect(grown.status?.phase).toBe("Bound");
    const larger = await client.kind(PersistentVolume).get({ name: volume.metadata.name });
    expect(larger.spec.capacity).toEqual({ storage: "2Gi" });

    await client.kind(PersistentVolumeClaim).delete(ref);
    await until(client, PersistentVolume, { name: volume.metadata.name }, (object) => object === undefined);
    expect(existsSync(path)).toBe(false);
  });

  it("removes the directory also when the volume is deleted before its claim", async () => {
    const made = await client
      .kind(PersistentVolumeClaim)
      .create(claimOf("reversed", { storageClassName: "standard" }));
    const claim = await claimPhase(client, "reversed", "Bound");
    const name = claim.spec.volumeName ?? "";
    const { spec } = await phaseOf(client, name, "Bound");
    const path = spec.hostPath?.path ?? "";
    await mkdir(path, { recursive: true });
    await client.kind(PersistentVolume).delete({ name });
    await client.kind(PersistentVolumeClaim).delete(made.metadata);
    await until(client, PersistentVolume, { name }, (object) => object === undefined);
    expect(existsSync(path)).toBe(false);
  });
});
