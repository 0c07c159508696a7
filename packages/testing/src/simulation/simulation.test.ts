import { ConfigMap, Job, PersistentVolumeClaim, Pod, Secret, Service } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { clientName, LineBroken, operatorName } from "./network.ts";
import type { Application, ContainerEnd, ContainerStart, PodObject, SimulatedProcess } from "./process.ts";
import { type Checkpoint, type Simulation, simulation } from "./simulation.ts";

/** A counter that keeps its count on its volume, and counts its starts. */
class Counters implements Application {
  starts: ContainerStart[] = [];
  frozen = false;

  start(start: ContainerStart): SimulatedProcess | ContainerEnd {
    this.starts.push(start);
    const { command = [] } = start.container;
    if (command[0] === "fail") return { exitCode: 1, message: "as told" };
    if (command[0] === "end") return { exitCode: 0, message: "" };
    if (command[0] === "read") start.files("secret");
    const volume = start.volume("data");
    if (volume) volume.data = ((volume.data as number | undefined) ?? 0) + 1;
    return this.resume("", start);
  }

  resume(_podUid: string, start: ContainerStart): SimulatedProcess {
    const isFrozen = () => this.frozen;
    const process = {
      ready: true,
      get live() {
        return !isFrozen();
      },
      ended: undefined as ContainerEnd | undefined,
      stop: () => process.kill(),
      kill: () => {
        process.ended ??= { exitCode: 137, message: "" };
        start.changed();
      },
    };
    return process;
  }
}

async function world(from?: Checkpoint): Promise<Simulation<Counters>> {
  return await simulation({
    application: () => new Counters(),
    controllers: () => [],
    managers: 0,
    ...(from && { from }),
  });
}

const ref = { namespace: "default", name: "one" };

async function createPod(s: Simulation<Counters>, more: object = {}, command: string[] = []): Promise<void> {
  await s.client.kind(Pod).create({
    metadata: { ...ref, labels: { app: "one" } },
    spec: { containers: [{ name: "main", image: "main", command }], ...more },
  });
}

async function createClaim(s: Simulation<Counters>): Promise<void> {
  await s.client.kind(PersistentVolumeClaim).create({
    metadata: ref,
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
}

const onClaim = { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "one" } }] };

const ownedBy = (apiVersion: string, kind: string, uid: string) => ({ apiVersion, kind, name: "one", uid });

async function status(s: Simulation<Counters>) {
  return (await s.client.kind(Pod).find(ref))?.status;
}

async function isReady(s: Simulation<Counters>): Promise<boolean> {
  return (
    (await status(s))?.conditions?.some((each) => each.type === "Ready" && each.status === "True") ?? false
  );
}

describe("pods", () => {
  test("are placed, started, and found by the Service that selects them", async () => {
    await using s = await world();
    await s.client
      .kind(Service)
      .create({ metadata: ref, spec: { selector: { app: "one" }, ports: [{ port: 1 }] } });
    await createPod(s);
    expect(s.endpoints("default", "one")).toEqual([]);
    await s.cluster.until(() => isReady(s));
    expect(s.endpoints("default", "one").map(({ metadata }) => metadata.name)).toEqual(["one"]);
  });

  test("are started again with growing pauses, and say what they said last", async () => {
    await using s = await world();
    await createPod(s, {}, ["fail"]);
    await s.cluster.advance(5_000);
    const [container] = (await status(s))?.containerStatuses ?? [];
    expect(container?.state?.waiting?.reason).toBe("CrashLoopBackOff");
    expect(container?.lastState?.terminated?.message).toBe("as told");
    const before = s.application.starts.length;
    await s.cluster.advance(10_000);
    expect(s.application.starts.length).toBe(before + 1);
    await s.cluster.advance(3_600_000);
    expect(s.application.starts.length).toBeLessThan(25);
  });

  test("that may end do, well or not", async () => {
    await using s = await world();
    await createPod(s, { restartPolicy: "Never" }, ["end"]);
    await s.cluster.until(async () => (await status(s))?.phase === "Succeeded");
    await s.client.kind(Pod).delete(ref, { gracePeriodSeconds: 0 });
    await createPod(s, { restartPolicy: "Never" }, ["fail"]);
    await s.cluster.until(async () => (await status(s))?.phase === "Failed");
  });

  test("wait for Secrets, and see a change after a while", async () => {
    await using s = await world();
    const volumes = [{ name: "secret", secret: { secretName: "one" } }];
    await createPod(s, { volumes }, ["read"]);
    await s.cluster.advance(5_000);
    const [container] = (await status(s))?.containerStatuses ?? [];
    expect(container?.state?.waiting?.message).toBe('secret "one" not found');
    const secret = (text: string) => ({ key: Buffer.from(text).toString("base64") });
    await s.client.kind(Secret).create({ metadata: ref, data: secret("old") });
    await s.cluster.until(() => isReady(s));
    await s.client.kind(Secret).patch(ref, { type: "merge", body: { data: secret("new") } });
    const start = s.application.starts.at(-1) as ContainerStart;
    await s.cluster.advance(60_000);
    expect(start.files("secret")).toEqual({ key: "old" });
    await s.cluster.advance(60_000);
    expect(start.files("secret")).toEqual({ key: "new" });
  });

  test("keep what they have mounted when its Secret is deleted", async () => {
    await using s = await world();
    const data = { key: Buffer.from("old").toString("base64") };
    await s.client.kind(Secret).create({ metadata: ref, data });
    await createPod(s, { volumes: [{ name: "secret", secret: { secretName: "one" } }] }, ["read"]);
    await s.cluster.until(() => isReady(s));
    await s.client.kind(Secret).delete(ref);
    await s.cluster.advance(120_000);
    expect(s.application.starts.at(-1)?.files("secret")).toEqual({ key: "old" });
  });

  test("whose process hangs are ended by their liveness probe", async () => {
    await using s = await world();
    await createPod(s);
    await s.cluster.until(() => isReady(s));
    s.application.frozen = true;
    s.application.starts[0]?.changed();
    await s.cluster.advance(5_000);
    expect(s.application.starts).toHaveLength(1);
    await s.cluster.advance(20_000);
    expect(s.application.starts).toHaveLength(2);
  });

  test("go with their owner, in every way of deleting it", async () => {
    await using s = await world();
    for (const propagation of ["Background", "Foreground", "Orphan"] as const) {
      const owner = await s.client.kind(ConfigMap).create({ metadata: ref });
      const ownerReferences = [
        { ...ownedBy("v1", "ConfigMap", owner.metadata.uid), blockOwnerDeletion: true },
      ];
      await s.client.kind(Secret).create({ metadata: { ...ref, ownerReferences } });
      await s.client.kind(ConfigMap).delete(ref, { propagation });
      await s.cluster.until(async () => (await s.client.kind(ConfigMap).find(ref)) === undefined);
      await s.cluster.advance(2_000);
      const left = await s.client.kind(Secret).find(ref);
      expect(left === undefined).toBe(propagation !== "Orphan");
      expect(left?.metadata.ownerReferences).toBeUndefined();
    }
  });

  test("of a Job go with the owner of the Job", async () => {
    await using s = await world();
    const owner = await s.client.kind(ConfigMap).create({ metadata: ref });
    const job = await s.client.kind(Job).create({
      metadata: { ...ref, ownerReferences: [ownedBy("v1", "ConfigMap", owner.metadata.uid)] },
      spec: { template: { spec: { containers: [{ name: "main", image: "main" }], restartPolicy: "Never" } } },
    });
    await s.client.kind(Pod).create({
      metadata: { ...ref, ownerReferences: [ownedBy("batch/v1", "Job", job.metadata.uid)] },
      spec: { containers: [{ name: "main", image: "main" }] },
    });
    await s.client.kind(ConfigMap).delete(ref);
    await s.cluster.until(async () => (await s.client.kind(Pod).find(ref)) === undefined);
    expect(await s.client.kind(Job).find(ref)).toBeUndefined();
  });
});

describe("volumes", () => {
  test("keep what is on them when their pod is made again, and go with their claim", async () => {
    await using s = await world();
    await createClaim(s);
    await createPod(s, onClaim);
    await s.cluster.until(() => isReady(s));
    await s.client.kind(PersistentVolumeClaim).delete(ref);
    await s.cluster.advance(5_000);
    expect(s.volumes.of("default", "one")?.data).toBe(1);
    await s.client.kind(Pod).delete(ref);
    await s.cluster.until(async () => (await s.client.kind(PersistentVolumeClaim).find(ref)) === undefined);
    await createClaim(s);
    await createPod(s, onClaim);
    await s.cluster.until(() => isReady(s));
    expect(s.volumes.of("default", "one")?.data).toBe(1);
    s.kubelet.crash("one");
    await s.cluster.advance(5_000);
    expect(s.volumes.of("default", "one")?.data).toBe(2);
  });

  test("of a pod that has ended are free for a pod on another node", async () => {
    await using s = await world();
    await createClaim(s);
    await createPod(s, { ...onClaim, restartPolicy: "Never" }, ["end"]);
    await s.cluster.until(async () => (await status(s))?.phase === "Succeeded");
    const node = s.kubelet.run("one")?.node;
    const other = [...s.nodes.all.keys()].find((each) => each !== node);
    const containers = [{ name: "main", image: "main", command: ["end"] }];
    await s.client.kind(Pod).create({
      metadata: { ...ref, name: "two" },
      spec: { containers, nodeName: other, ...onClaim, restartPolicy: "Never" } as never,
    });
    await s.cluster.advance(60_000);
    expect((await s.client.kind(Pod).get({ ...ref, name: "two" })).status?.phase).toBe("Succeeded");
  });

  test("that do not come keep their pod Pending, with the reason", async () => {
    await using s = await world();
    const release = s.volumes.stick("");
    await createClaim(s);
    await createPod(s, onClaim);
    await s.cluster.advance(60_000);
    const scheduled = (await status(s))?.conditions?.find(({ type }) => type === "PodScheduled");
    expect(scheduled?.message).toContain("unbound immediate PersistentVolumeClaims");
    release();
    await s.cluster.until(() => isReady(s));
  });
});

describe("nodes", () => {
  async function placed(): Promise<{ s: Simulation<Counters>; node: string }> {
    const s = await world();
    await createClaim(s);
    await createPod(s, onClaim);
    await s.cluster.until(() => isReady(s));
    return { s, node: s.kubelet.run("one")?.node ?? "" };
  }

  test("that lose power are noticed after a while, and start their pods again when they come back", async () => {
    const { s, node } = await placed();
    await using _ = s;
    await s.nodes.lose(node);
    expect(s.kubelet.process("one")).toBeUndefined();
    expect(await isReady(s)).toBe(true);
    await s.cluster.advance(41_000);
    expect(await isReady(s)).toBe(false);
    await s.nodes.restore(node);
    await s.cluster.until(() => isReady(s));
    expect(s.volumes.of("default", "one")?.data).toBe(2);
  });

  test("whose kubelet restarts find readiness again, and their processes run on", async () => {
    const { s, node } = await placed();
    await using _ = s;
    const ready: unknown[] = [];
    s.stored.subscribe("pods", ({ object }) => {
      const { conditions = [] } = (object as unknown as PodObject).status ?? {};
      ready.push(conditions.find(({ type }) => type === "Ready")?.status);
    });
    await s.nodes.silence(node);
    await s.cluster.advance(10_000);
    s.kubelet.forget(node);
    await s.nodes.restore(node);
    await s.cluster.advance(1_000);
    expect(ready).toEqual(["False", "True"]);
    expect(s.application.starts).toHaveLength(1);
  });

  test("whose kubelet restarts start containers at once that would have waited", async () => {
    await using s = await world();
    await createPod(s, {}, ["fail"]);
    await s.cluster.advance(120_000);
    const node = s.kubelet.run("one")?.node ?? "";
    const before = s.application.starts.length;
    await s.nodes.silence(node);
    s.kubelet.forget(node);
    await s.nodes.restore(node);
    await s.cluster.advance(25_000);
    // At once, again at once, and after 10 s: without the restart, the next one would be minutes away.
    expect(s.application.starts.length).toBeGreaterThanOrEqual(before + 3);
  });

  test("that are cut off go on with what was deleted meanwhile, and keep its volume from others", async () => {
    const { s, node } = await placed();
    await using _ = s;
    await s.nodes.silence(node);
    await s.client.kind(Pod).delete(ref, { gracePeriodSeconds: 0 });
    await createPod(s, onClaim);
    await s.cluster.advance(60_000);
    expect(s.application.starts).toHaveLength(1);
    await s.nodes.restore(node);
    await s.cluster.until(() => isReady(s));
    expect(s.application.starts).toHaveLength(2);
  });

  test("with another label take no pods that ask for the old one", async () => {
    await using s = await world();
    for (const name of s.nodes.all.keys()) await s.nodes.relabel(name, { pool: "new" });
    await createPod(s, { nodeSelector: { pool: "default" } });
    await s.cluster.advance(5_000);
    expect((await status(s))?.conditions?.find(({ type }) => type === "PodScheduled")?.status).toBe("False");
    await s.nodes.relabel("node-2", { pool: "default" });
    await s.cluster.until(() => isReady(s));
    expect(s.kubelet.run("one")?.node).toBe("node-2");
  });
});

describe("lines", () => {
  test("are refused, silent, slow, one-way, or cut in the middle of an answer", async () => {
    await using s = await world();
    let arrived = 0;
    const call = async (timeoutMs = 5_000) => {
      const startedMs = s.clock.monotonic();
      const outcome = await s.clock.run(
        s.network
          .call({ from: operatorName, to: "one", timeoutMs }, () => ++arrived)
          .catch((error: unknown) => (error as LineBroken).code),
      );
      return [outcome, s.clock.monotonic() - startedMs];
    };
    const tried = async (how: Parameters<typeof s.network.impair>[0]["how"]) => {
      const mend = s.network.impair({ from: operatorName, to: "one", how, ms: 700 });
      const before = arrived;
      const answer = await call();
      mend();
      return [...answer, arrived - before];
    };
    expect(await call()).toEqual([1, 0]);
    expect(await tried("refused")).toEqual(["ECONNREFUSED", 0, 0]);
    expect(await tried("dropped")).toEqual(["ETIMEDOUT", 5_000, 0]);
    expect(await tried("slow")).toEqual([2, 700, 1]);
    expect(await tried("one-way")).toEqual(["ETIMEDOUT", 5_000, 1]);
    expect(await tried("cut")).toEqual(["ECONNRESET", 0, 1]);
    expect(s.network.connected(clientName, "one")).toBe(true);
  });

  test("that are slow connect those who have the patience for both ways", async () => {
    await using s = await world();
    s.network.impair({ from: "one", to: "two", how: "slow", ms: 300 });
    s.network.impair({ from: "two", to: "one", how: "slow" });
    expect(s.network.connected("one", "two")).toBe(true);
    expect(s.network.connected("two", "one", 1_301)).toBe(true);
    expect(s.network.connected("one", "two", 1_300)).toBe(false);
  });

  test("without an answer hold a caller without patience as long as a kernel does", async () => {
    await using s = await world();
    s.network.impair({ to: "one", how: "dropped" });
    const hanging = s.network.call({ from: operatorName, to: "one" }, () => 1);
    await expect(s.clock.run(hanging)).rejects.toThrow(LineBroken);
    expect(s.clock.monotonic()).toBe(127_000);
  });
});

test("a simulation goes on from a checkpoint, as often as one likes", async () => {
  let from: Checkpoint;
  {
    await using s = await world();
    await createClaim(s);
    await createPod(s, onClaim);
    await s.cluster.until(() => isReady(s));
    from = s.checkpoint();
  }
  for (let i = 0; i < 2; i++) {
    await using s = await world(from);
    expect(s.clock.monotonic()).toBe(from.cluster.monotonicMs);
    expect(await isReady(s)).toBe(true);
    expect(s.volumes.of("default", "one")?.data).toBe(1);
    s.kubelet.crash("one");
    await s.cluster.advance(2_000);
    expect(s.volumes.of("default", "one")?.data).toBe(2);
    expect((await status(s))?.containerStatuses?.[0]?.restartCount).toBe(1);
  }
});
