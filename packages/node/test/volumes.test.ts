/** Volumes of real pods against those who would reach the machine through them. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigMap, PersistentVolume, PersistentVolumeClaim, Secret } from "@keelson/core/kinds";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cappedVolumeAnnotation } from "../src/volumes/pod-volumes.ts";
import { titled, whyNoSandbox } from "./node-machine.ts";
import { isOver, isReady, namespace, type RealPods, realPods } from "./real-pods.ts";
import { rootOf } from "./sandboxes.ts";

const reason = await whyNoSandbox();

describe.skipIf(reason !== undefined)(titled("volumes", reason), { timeout: 60_000 }, () => {
  let pods: RealPods;
  beforeAll(async () => {
    await rootOf("busybox");
    pods = await realPods(["one"]);
  }, 300_000);
  afterAll(async () => await pods?.[Symbol.asyncDispose]());
  const sh = (script: string) => ["sh", "-c", script];
  const box = { image: "busybox", imagePullPolicy: "IfNotPresent" as const };

  test("an image is read and cannot be written to, by whatever means", async () => {
    const script = `cat /image/etc/passwd | head -n 1
      echo x > /image/planted || echo refused; echo x >> /image/etc/passwd || echo refused; rm /image/etc/passwd || echo refused
      mount -o remount,rw /image && echo x > /image/planted; ls /image/planted 2>/dev/null; true`;
    await pods.create("image", {
      restartPolicy: "Never",
      containers: [
        {
          ...{ ...box, name: "c", command: sh(script), securityContext: { privileged: true } },
          volumeMounts: [{ name: "i", mountPath: "/image" }],
        },
      ],
      volumes: [{ name: "i", image: { reference: "busybox" } }],
    });
    await pods.until("image", isOver);
    const log = await pods.log("image");
    expect(log).toContain("root:");
    expect(log.match(/refused/g)).toHaveLength(3);
    expect(log).not.toContain("/image/planted\n/");
    expect(existsSync(join(await rootOf("busybox"), "planted"))).toBe(false);
  });

  test("files that the node writes are read-only, and secrets are on no disk", async () => {
    const data = { key: Buffer.from("very-secret-value").toString("base64") };
    await pods.client.kind(Secret).create({ metadata: { name: "s", namespace }, data });
    await pods.client.kind(ConfigMap).create({ metadata: { name: "c", namespace }, data: { key: "value" } });
    await pods.create("files", {
      containers: [
        {
          ...{ ...box, name: "c" },
          command:
            sh(`cat /secret/key; for d in /secret /config /var/run/secrets/kubernetes.io/serviceaccount; do
            touch $d/planted 2>/dev/null && echo written; rm $d/..data 2>/dev/null && echo removed; done; echo end; sleep 1000`),
          env: [{ name: "SECRET", valueFrom: { secretKeyRef: { name: "s", key: "key" } } }],
          readinessProbe: { exec: { command: ["test", "-e", "/secret/key"] } },
          volumeMounts: [
            { name: "s", mountPath: "/secret" },
            { name: "c", mountPath: "/config" },
            { name: "s", mountPath: "/one-key", subPath: "key" },
          ],
        },
      ],
      volumes: [
        { name: "s", secret: { secretName: "s" } },
        { name: "c", configMap: { name: "c" } },
      ],
    });
    await pods.until("files", isReady);
    await expect.poll(() => pods.log("files")).toBe("very-secret-valueend\n");
    const found = execFileSync("sh", [
      "-c",
      'grep -rl very-secret-value "$1" || true',
      "sh",
      join(pods.home, "nodes", "nodes", "one", "pods"),
    ]);
    expect(found.toString()).toBe("");
  });

  test("a subPath through a link is refused, and nothing is made where it leads", async () => {
    const outside = join(pods.home, "outside");
    await pods.create("linked", {
      restartPolicy: "Never",
      initContainers: [
        {
          ...{ ...box, name: "first" },
          command: sh(
            `mkdir -p /v/dir/sub; echo kept > /v/dir/sub/file; ln -s dir /v/inside; ln -s ${pods.home} /v/out; ln -s ../../.. /v/up`,
          ),
          volumeMounts: [{ name: "v", mountPath: "/v" }],
        },
      ],
      containers: [
        {
          ...box,
          name: "inside",
          command: ["cat", "/d/file"],
          volumeMounts: [{ name: "v", mountPath: "/d", subPath: "inside/sub" }],
        },
        {
          ...box,
          name: "out",
          command: ["true"],
          volumeMounts: [{ name: "v", mountPath: "/d", subPath: "out/outside" }],
        },
        {
          ...box,
          name: "up",
          command: ["true"],
          volumeMounts: [{ name: "v", mountPath: "/d", subPath: "up/outside" }],
        },
      ],
      volumes: [{ name: "v", emptyDir: {} }],
    });
    const states = (pod: Parameters<Parameters<RealPods["until"]>[1]>[0]) =>
      Object.fromEntries((pod?.status?.containerStatuses ?? []).map(({ name, state }) => [name, state]));
    const pod = await pods.until("linked", (seen) => {
      const { inside, out, up } = states(seen);
      return (
        inside?.terminated !== undefined && [out, up].every((state) => state?.waiting?.message !== undefined)
      );
    });
    const { inside, out, up } = states(pod);
    expect(inside?.terminated?.exitCode).toBe(0);
    for (const state of [out, up]) {
      expect(state?.waiting).toMatchObject({ reason: "CreateContainerConfigError" });
      expect(state?.waiting?.message).toMatch(/subPath "(out|up)\/outside" leads out of its volume/);
    }
    expect(existsSync(outside)).toBe(false);
    expect(readdirSync(pods.home)).toEqual(["nodes"]);
  });

  test("a capped volume that grew has its new size at the next start of a container that it was too small for", async () => {
    const path = mkdtempSync(join(tmpdir(), "keelson-capped-"));
    const volumes = pods.client.kind(PersistentVolume);
    const capacity = (storage: string) => ({ capacity: { storage } });
    await volumes.create({
      metadata: { name: "grows", annotations: { [cappedVolumeAnnotation]: "true" } },
      spec: { ...capacity("1Mi"), accessModes: ["ReadWriteOnce"], hostPath: { path } },
    });
    await pods.client.kind(PersistentVolumeClaim).create({
      metadata: { name: "grows", namespace },
      spec: {
        accessModes: ["ReadWriteOnce"],
        volumeName: "grows",
        storageClassName: "",
        resources: { requests: { storage: "1Mi" } },
      },
    });
    await pods.create("grows", {
      containers: [
        {
          ...{ ...box, name: "c" },
          command: sh("dd if=/dev/zero of=/data/file bs=1024k count=4 && sleep 1000"),
          readinessProbe: { exec: { command: sh("test $(stat -c %s /data/file) = 4194304") } },
          volumeMounts: [{ name: "d", mountPath: "/data" }],
        },
      ],
      volumes: [{ name: "d", persistentVolumeClaim: { claimName: "grows" } }],
    });
    await pods.until("grows", (pod) => (pod?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
    await volumes.patch({ name: "grows" }, { type: "merge", body: { spec: capacity("16Mi") } });
    await pods.until("grows", isReady);
    rmSync(path, { recursive: true, force: true });
  });
});
