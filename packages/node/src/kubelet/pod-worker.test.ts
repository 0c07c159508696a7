import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PodBench } from "../../test/pod-bench.ts";

const app = { name: "app", image: "app:1" };

describe("a pod's life", () => {
  test("its container runs, and the pod is ready with an address", async () => {
    using bench = new PodBench({ containers: [app] });
    await bench.begin();
    expect(bench.status).toMatchObject({
      phase: "Running",
      podIP: "10.244.0.2",
      hostIP: "10.244.0.1",
      qosClass: "BestEffort",
    });
    expect(
      ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) =>
        bench.condition(type),
      ),
    ).toEqual(Array(5).fill("True"));
    expect(bench.state("app")).toMatchObject({
      ready: true,
      started: true,
      restartCount: 0,
      imageID: "app@sha256:1",
    });
    expect(bench.events).toEqual([
      'Normal Pulled: Container image "app:1" already present on machine',
      "Normal Created: Container created",
      "Normal Started: Container started",
    ]);
  });

  test("a container that keeps ending is started at once, then after 10, 20 and 40 seconds", async () => {
    using bench = new PodBench({ containers: [app] });
    const begun = bench.clock.now();
    const at: number[] = [];
    bench.onStart = (container) => {
      at.push((bench.clock.now() - begun) / 1000);
      container.end(1);
    };
    await bench.begin();
    await bench.clock.advance(80_000);
    expect(at).toEqual([0, 0, 10, 30, 70]);
    expect(bench.state("app")).toMatchObject({
      restartCount: 4,
      state: { waiting: { reason: "CrashLoopBackOff", message: expect.stringContaining("back-off 1m20s") } },
      lastState: { terminated: { exitCode: 1, reason: "Error" } },
    });
    expect(bench.status.phase).toBe("Running");
  });

  test.each([
    ["Never", 0, "Succeeded"],
    ["Never", 3, "Failed"],
    ["OnFailure", 0, "Succeeded"],
    ["OnFailure", 3, "Running"],
    ["Always", 0, "Running"],
  ] as const)("with restart policy %s, exit code %i leaves it %s", async (restartPolicy, code, phase) => {
    using bench = new PodBench({ restartPolicy, containers: [app] });
    await bench.begin();
    bench.container("app").end(code);
    await bench.clock.settle();
    expect(bench.status.phase).toBe(phase);
    expect(bench.starts("app")).toBe(phase === "Running" ? 2 : 1);
  });

  test("a pod that is over says so in its conditions and gives back its sandbox", async () => {
    using bench = new PodBench({ restartPolicy: "Never", containers: [app] });
    await bench.begin();
    bench.container("app").end(0);
    await bench.clock.settle();
    expect(bench.worker.state).toBe("stopped");
    expect(bench.worker.sandbox).toBeUndefined();
    expect(bench.status.conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: "Ready", status: "False", reason: "PodCompleted" }),
        expect.objectContaining({ type: "Initialized", status: "True", reason: "PodCompleted" }),
      ]),
    );
    expect(bench.deleted).toEqual([]);
  });

  test("past its deadline it fails", async () => {
    using bench = new PodBench({ activeDeadlineSeconds: 60, containers: [app] });
    await bench.begin();
    await bench.clock.advance(61_000);
    expect(bench.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(bench.container("app").signals[0]).toBe("SIGTERM");
  });

  test("after a power cut its containers come back with one restart more", async () => {
    using bench = new PodBench({ containers: [app] });
    await bench.begin();
    await bench.powerCycle();
    expect(bench.state("app")).toMatchObject({
      restartCount: 1,
      ready: true,
      lastState: { terminated: { exitCode: 255, reason: "Unknown" } },
    });
  });

  test("after a power cut what must never run twice has failed", async () => {
    using bench = new PodBench({ restartPolicy: "Never", containers: [app] });
    await bench.begin();
    await bench.powerCycle();
    expect(bench.status.phase).toBe("Failed");
    expect(bench.starts("app")).toBe(1);
  });
});

describe("a container whose image changes", () => {
  const change = async (bench: PodBench) => {
    const { metadata, spec } = bench.pod;
    bench.pod = {
      ...bench.pod,
      metadata: { ...metadata, generation: 2 },
      spec: { ...spec, containers: [{ ...app, image: "app:2" }] },
    };
    bench.worker.update(bench.pod);
    await bench.clock.settle();
  };
  const readiness = ({ conditions }: PodBench["status"]) =>
    conditions?.find(({ type }) => type === "Ready")?.status;

  test("is replaced while its pod stays ready", async () => {
    using bench = new PodBench({ containers: [app] });
    await bench.begin();
    const before = bench.statuses.length;
    await change(bench);
    expect(bench.state("app")).toMatchObject({
      ...{ image: "app:2", ready: true, restartCount: 1 },
      state: { running: {} },
      lastState: { terminated: { exitCode: 0 } },
    });
    expect(new Set(bench.statuses.slice(before).map(readiness))).toEqual(new Set(["True"]));
  });

  test("is shown as ended once the next image cannot be had", async () => {
    using bench = new PodBench({ containers: [app] });
    await bench.begin();
    bench.imageError = "no such image";
    await change(bench);
    expect(bench.state("app")).toMatchObject({
      ready: false,
      started: false,
      state: { waiting: { reason: "ErrImagePull" } },
      lastState: { terminated: { exitCode: 0 } },
    });
    expect(bench.condition("Ready")).toBe("False");
  });

  test("is shown as ended when the pod is deleted before the next one runs", async () => {
    using bench = new PodBench({ containers: [app] });
    await bench.begin();
    bench.container("app").polite = false;
    await change(bench);
    await bench.markDeleted(1);
    await bench.clock.advance(1_000);
    expect(bench.starts("app")).toBe(1);
    expect(bench.state("app")).toMatchObject({ ready: false, state: { terminated: { exitCode: 137 } } });
  });
});

describe("a pod that ends while its sandbox is being made", () => {
  const never = new Promise<void>(() => undefined);

  test.each([
    ["is deleted", (bench: PodBench) => bench.markDeleted(1)],
    ["is removed", (bench: PodBench) => bench.worker.remove()],
    ["loses its node", (bench: PodBench) => bench.worker.powerOff(0)],
  ])("leaves none when it %s", async (_, end) => {
    using bench = new PodBench({ containers: [app] });
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.sandboxGate = promise;
    await bench.begin();
    const ended = end(bench);
    await bench.clock.settle();
    resolve();
    await ended;
    await bench.clock.settle();
    expect(bench.sandboxes).toBe(0);
    expect(bench.containers).toEqual([]);
  });

  test("leaves none when its files cannot be written, and is tried again", async () => {
    using bench = new PodBench({ containers: [app] });
    const file = `${bench.home}/sandboxes/u1/hosts`;
    mkdirSync(file, { recursive: true });
    await bench.begin();
    expect(bench.events.join()).toContain("FailedCreatePodSandBox");
    expect(bench.sandboxes).toBe(0);
    await bench.clock.advance(11_000);
    expect(bench.sandboxes).toBe(1);
  });

  test("does not hold up its node while the API does not answer", async () => {
    using bench = new PodBench({ restartPolicy: "Never", containers: [app] });
    await bench.begin();
    bench.statusGate = never;
    bench.container("app").end(0);
    await bench.clock.settle();
    await bench.worker.remove();
    expect(bench.sandboxes).toBe(0);
  });
});

describe("init containers", () => {
  const init = (name: string) => ({ name, image: "app:1" });

  test("run one after the other before the others start", async () => {
    using bench = new PodBench({ initContainers: [init("one"), init("two")], containers: [app] });
    await bench.begin();
    expect(bench.containers.map(({ id }) => id)).toEqual(["one-0"]);
    expect(bench.status.phase).toBe("Pending");
    expect(bench.state("app")?.state).toEqual({ waiting: { reason: "PodInitializing" } });
    bench.container("one").end(0);
    await bench.clock.settle();
    bench.container("two").end(0);
    await bench.clock.settle();
    expect(bench.containers.map(({ id }) => id)).toEqual(["one-0", "two-0", "app-0"]);
    expect(bench.state("one")).toMatchObject({ ready: true, started: false });
    expect(bench.status.phase).toBe("Running");
  });

  test("that fail are repeated, or fail the pod that is never restarted", async () => {
    using waiting = new PodBench({ initContainers: [init("one")], containers: [app] });
    await waiting.begin();
    waiting.container("one").end(1);
    await waiting.clock.settle();
    expect(waiting.starts("one")).toBe(2);
    expect(waiting.status.phase).toBe("Pending");
    using strict = new PodBench({ restartPolicy: "Never", initContainers: [init("one")], containers: [app] });
    await strict.begin();
    strict.container("one").end(1);
    await strict.clock.settle();
    expect(strict.status.phase).toBe("Failed");
    expect(strict.starts("app")).toBe(0);
  });

  test("a sidecar lets the next begin once it has started, and ends after the others", async () => {
    const sidecar = {
      ...init("side"),
      restartPolicy: "Always",
      startupProbe: { exec: { command: ["ok"] }, periodSeconds: 5 },
    };
    using bench = new PodBench({ restartPolicy: "Never", initContainers: [sidecar], containers: [app] });
    bench.onStart = (container) => {
      container.execCode = 1;
    };
    await bench.begin();
    expect(bench.starts("app")).toBe(0);
    bench.container("side").execCode = 0;
    await bench.clock.advance(5_000);
    expect(bench.starts("app")).toBe(1);
    expect(bench.status.phase).toBe("Running");
    bench.container("app").end(0);
    await bench.clock.settle();
    expect(bench.container("side").signals[0]).toBe("SIGTERM");
    expect(bench.status.phase).toBe("Succeeded");
  });
});

describe("deletion", () => {
  test("asks the container to stop, shows its end, and only then removes the object", async () => {
    using bench = new PodBench({ containers: [app] });
    await bench.begin();
    await bench.markDeleted(30);
    expect(bench.container("app").signals[0]).toBe("SIGTERM");
    expect(bench.state("app")?.state?.terminated).toMatchObject({ exitCode: 0, reason: "Completed" });
    expect(bench.status.phase).toBe("Succeeded");
    expect(bench.deleted).toEqual(["u1"]);
    expect(bench.events).toContain("Normal Killing: Stopping container app");
  });

  test("kills what does not stop in time, sooner when the time is cut short", async () => {
    using bench = new PodBench({ containers: [app] });
    await bench.begin();
    bench.container("app").polite = false;
    await bench.markDeleted(30);
    await bench.clock.advance(10_000);
    expect(bench.deleted).toEqual([]);
    await bench.markDeleted(1);
    await bench.clock.advance(1_000);
    expect(bench.container("app").signals).toEqual(["SIGTERM", "SIGKILL"]);
    expect(bench.state("app")?.state?.terminated?.exitCode).toBe(137);
    expect(bench.status.phase).toBe("Failed");
    expect(bench.deleted).toEqual(["u1"]);
  });

  test("runs the hook before the signal", async () => {
    const preStop = { sleep: { seconds: 4 } };
    using bench = new PodBench({ containers: [{ ...app, lifecycle: { preStop } }] });
    await bench.begin();
    await bench.markDeleted(30);
    await bench.clock.advance(3_900);
    expect(bench.container("app").signals).toEqual([]);
    await bench.clock.advance(200);
    expect(bench.container("app").signals[0]).toBe("SIGTERM");
  });

  test("of a pod that never started leaves it failed", async () => {
    using bench = new PodBench({ containers: [app] });
    bench.imageError = "there is none";
    await bench.begin();
    await bench.markDeleted(30);
    expect(bench.status.phase).toBe("Failed");
    expect(bench.state("app")?.state?.terminated).toMatchObject({
      exitCode: 137,
      reason: "ContainerStatusUnknown",
    });
    expect(bench.deleted).toEqual(["u1"]);
  });
});

describe("probes", () => {
  const exec = { command: ["check"] };

  test("readiness follows the probe by its thresholds", async () => {
    using bench = new PodBench({
      containers: [{ ...app, readinessProbe: { exec, periodSeconds: 1, failureThreshold: 2 } }],
    });
    bench.onStart = (container) => {
      container.execCode = 1;
    };
    await bench.begin();
    expect(bench.condition("Ready")).toBe("False");
    bench.container("app").execCode = 0;
    await bench.clock.advance(1_000);
    expect(bench.condition("Ready")).toBe("True");
    bench.container("app").execCode = 1;
    await bench.clock.advance(1_000);
    expect(bench.condition("Ready")).toBe("True");
    await bench.clock.advance(1_000);
    expect(bench.condition("Ready")).toBe("False");
    expect(bench.starts("app")).toBe(1);
  });

  test("a container that fails its liveness probe is replaced", async () => {
    using bench = new PodBench({
      containers: [{ ...app, livenessProbe: { exec, periodSeconds: 1, failureThreshold: 3 } }],
    });
    await bench.begin();
    bench.container("app").execCode = 1;
    await bench.clock.advance(3_000);
    expect(bench.starts("app")).toBe(2);
    expect(bench.events).toContain("Normal Killing: Container app failed liveness probe, will be restarted");
    expect(
      bench.events.filter((event) => event.startsWith("Warning Unhealthy: Liveness probe failed")),
    ).toHaveLength(3);
  });

  test("liveness waits for startup", async () => {
    const probes = {
      startupProbe: { exec, periodSeconds: 10, failureThreshold: 5 },
      livenessProbe: { exec, periodSeconds: 1, failureThreshold: 1 },
    };
    using bench = new PodBench({ containers: [{ ...app, ...probes }] });
    bench.onStart = (container) => {
      container.execCode = 1;
    };
    await bench.begin();
    await bench.clock.advance(30_000);
    expect(bench.starts("app")).toBe(1);
    expect(bench.state("app")).toMatchObject({ started: false, ready: false });
    bench.container("app").execCode = 0;
    await bench.clock.advance(10_000);
    expect(bench.state("app")).toMatchObject({ started: true, ready: true });
  });
});

describe("what keeps a container from starting", () => {
  test("an image that cannot be had is tried again with patience", async () => {
    using bench = new PodBench({ containers: [app] });
    bench.imageError = "load it first";
    await bench.begin();
    expect(bench.state("app")?.state?.waiting).toEqual({ reason: "ErrImagePull", message: "load it first" });
    await bench.clock.advance(2_000);
    expect(bench.state("app")?.state?.waiting).toEqual({
      reason: "ImagePullBackOff",
      message: 'Back-off pulling image "app:1": ErrImagePull: load it first',
    });
    bench.imageError = undefined;
    await bench.clock.advance(10_000);
    expect(bench.status.phase).toBe("Running");
  });

  test("a missing config map holds it back until it comes", async () => {
    const env = [{ name: "A", valueFrom: { configMapKeyRef: { name: "settings", key: "a" } } }];
    using bench = new PodBench({ containers: [{ ...app, env }] });
    await bench.begin();
    expect(bench.state("app")?.state?.waiting).toEqual({
      reason: "CreateContainerConfigError",
      message: 'configmap "settings" not found',
    });
    bench.configMaps.set("settings", {
      ...{ apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } },
      metadata: {
        name: "settings",
        uid: "c",
        resourceVersion: "2",
        creationTimestamp: "2026-01-01T00:00:00Z",
      },
    });
    await bench.clock.advance(1_000);
    expect(bench.container("app").spec.env.A).toBe("1");
    expect(bench.status.phase).toBe("Running");
  });

  test("a command that is not in the image is a start error", async () => {
    using bench = new PodBench({ containers: [{ ...app, command: ["nosuch"] }] });
    await bench.begin();
    expect(bench.state("app")?.lastState?.terminated).toMatchObject({
      exitCode: 128,
      reason: "StartError",
      message: 'exec: "nosuch": executable file not found in $PATH',
    });
  });

  test("an image that runs as root is refused where that is forbidden", async () => {
    using bench = new PodBench({ securityContext: { runAsNonRoot: true }, containers: [app] });
    await bench.begin();
    expect(bench.state("app")?.state?.waiting).toEqual({
      reason: "CreateContainerConfigError",
      message:
        'container has runAsNonRoot and image will run as root (pod: "web_default(u1)", container: app)',
    });
  });
});

describe("a projected token", () => {
  const volumes = [
    {
      name: "token",
      projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }] },
    },
  ];
  const mounted = { ...app, volumeMounts: [{ name: "token", mountPath: "/token" }] };

  /** A bench whose API issues tokens that are numbered, and a look at the file that the container sees. */
  function withTokens() {
    const bench = new PodBench({ volumes, containers: [mounted] });
    const begun = bench.clock.now();
    const issuedAt: number[] = [];
    bench.issueToken = (seconds) => {
      issuedAt.push((bench.clock.now() - begun) / 1000);
      const token = `token ${issuedAt.length}`;
      return Promise.resolve({ token, expiresAt: bench.clock.now() + seconds * 1000 });
    };
    const read = () => {
      const source = bench.container("app").spec.mounts.find(({ target }) => target === "/token")?.source;
      return readFileSync(join(source ?? "", "token"), "utf8");
    };
    return { bench, issuedAt, read };
  }

  test("of ten minutes is replaced within the minute after eight, again and again, without a restart", async () => {
    const { bench, issuedAt, read } = withTokens();
    using _ = bench;
    await bench.begin();
    expect(read()).toBe("token 1");
    await bench.clock.advance(7.9 * 60_000);
    expect(read()).toBe("token 1");
    await bench.clock.advance(1.1 * 60_000);
    expect(read()).toBe("token 2");
    await bench.clock.advance(30 * 60_000);
    expect(read()).toBe(`token ${issuedAt.length}`);
    const gaps = issuedAt.slice(1).map((at, index) => at - (issuedAt[index] ?? 0));
    for (const gap of gaps) expect(gap).toSatisfy((seconds: number) => seconds >= 480 && seconds <= 540);
    expect(issuedAt.length).toBeGreaterThanOrEqual(5);
    expect(bench.starts("app")).toBe(1);
  });

  test("that cannot be renewed stays while it is valid, and is replaced when one is to be had again", async () => {
    const { bench, read } = withTokens();
    using _ = bench;
    const { issueToken } = bench;
    await bench.begin();
    bench.issueToken = () => Promise.reject(new Error("the API server is away"));
    await bench.clock.advance(9.5 * 60_000);
    expect(read()).toBe("token 1");
    expect(bench.events.filter((event) => event.includes("FailedMount"))).toEqual([]);
    await bench.clock.advance(2 * 60_000);
    expect(bench.events).toContainEqual(expect.stringContaining("the API server is away"));
    bench.issueToken = issueToken;
    await bench.clock.advance(2 * 60_000);
    expect(read()).toBe("token 2");
  });

  test("follows the clock of the wall when that jumps", async () => {
    const { bench, read } = withTokens();
    using _ = bench;
    await bench.begin();
    bench.clock.jump(9 * 60_000);
    await bench.clock.advance(60_000);
    expect(read()).toBe("token 2");
    bench.clock.jump(-30 * 60_000);
    await bench.clock.advance(60_000);
    expect(read()).toBe("token 3");
  });
});
