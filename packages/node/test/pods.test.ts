/** Pods with processes, on the embedded control plane. */

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { pods as podClient } from "@keelson/client";
import { Quantity } from "@keelson/core";
import {
  ConfigMap,
  Event,
  NetworkPolicy,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
} from "@keelson/core/kinds";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { titled, whyNoSandbox } from "./node-machine.ts";
import { isGone, isOver, isReady, namespace, type RealPods, realPods } from "./real-pods.ts";

const reason = await whyNoSandbox();
if (reason !== undefined) console.warn(`tests of real pods are skipped: ${reason}`);

const sh = (script: string) => ({ name: "c", image: "busybox", command: ["sh", "-c", script] });
/** Ready once it listens to its signal: one that came earlier would be lost on a first process. */
const sleeper = {
  ...sh("trap 'exit 0' TERM; touch /listening; while :; do sleep 0.1; done"),
  readinessProbe: { exec: { command: ["test", "-e", "/listening"] }, periodSeconds: 1 },
};

describe.skipIf(reason !== undefined)(titled("real pods", reason), { timeout: 120_000 }, () => {
  let pods: RealPods;
  beforeAll(async () => {
    pods = await realPods(["one", "two"]);
  }, 300_000);
  afterAll(async () => await pods?.[Symbol.asyncDispose]());

  const run = async (name: string, spec: Parameters<RealPods["create"]>[1]) => {
    await pods.create(name, { restartPolicy: "Never", ...spec });
    const pod = await pods.until(name, isOver);
    const log = await pods.log(name);
    await pods.remove(name);
    return { pod, log };
  };

  test("startup, readiness and liveness are asked by gRPC, each for its own service", async () => {
    // Healthy is the service of which a file says so; the process keeps on listening whatever they say.
    const server = [
      'const { createServer } = require("node:http2"), { existsSync } = require("node:fs");',
      'createServer().on("stream", (s) => { const asked = []; s.on("data", (c) => asked.push(c)); s.on("end", () => {',
      "  const service = Buffer.concat(asked).subarray(7).toString();",
      '  s.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });',
      '  s.on("wantTrailers", () => s.sendTrailers({ "grpc-status": "0" }));',
      '  s.end(Buffer.from([0, 0, 0, 0, 2, 8, existsSync("/health/" + service) ? 1 : 2]));',
      "}); }).listen(9000);",
    ].join("\n");
    const grpc = (service: string) => ({ grpc: { port: 9000, service }, periodSeconds: 1 });
    await pods.create("grpc", {
      containers: [
        {
          name: "c",
          image: "node",
          command: ["node", "-e", server],
          volumeMounts: [{ name: "health", mountPath: "/health" }],
          startupProbe: { ...grpc("startup"), failureThreshold: 120 },
          readinessProbe: { ...grpc("readiness"), failureThreshold: 1 },
          livenessProbe: { ...grpc("liveness"), failureThreshold: 1 },
        },
      ],
      // Of the pod and not of its container, so that it is still there after a restart.
      volumes: [{ name: "health", emptyDir: {} }],
    });
    const say = async (script: string) => {
      const ref = { namespace, name: "grpc" };
      expect((await podClient(pods.client).run(ref, { command: ["node", "-e", script] })).code).toBe(0);
    };
    const write = (...services: string[]) =>
      say(
        `for (const each of ${JSON.stringify(services)}) require("node:fs").writeFileSync("/health/" + each, "")`,
      );
    const remove = (service: string) => say(`require("node:fs").unlinkSync("/health/${service}")`);
    const status = (pod: Awaited<ReturnType<RealPods["until"]>>) => pod?.status?.containerStatuses?.[0];
    const isRunning = (pod: Awaited<ReturnType<RealPods["until"]>>) =>
      status(pod)?.state?.running !== undefined;
    expect(status(await pods.until("grpc", isRunning))).toMatchObject({ started: false, ready: false });
    await write("liveness", "startup");
    expect(status(await pods.until("grpc", (pod) => status(pod)?.started === true))?.ready).toBe(false);
    await write("readiness");
    await pods.until("grpc", isReady);
    await remove("readiness");
    await pods.until("grpc", (pod) => !isReady(pod));
    expect(status(await pods.until("grpc", isRunning))?.restartCount).toBe(0);
    await remove("liveness");
    const again = await pods.until("grpc", (pod) => status(pod)?.restartCount === 1 && isRunning(pod));
    expect(status(again)?.lastState?.terminated).toBeDefined();
    const { items } = await pods.client.kind(Event).list({ namespace });
    const said = items.flatMap(({ involvedObject, message = "" }) =>
      involvedObject.name === "grpc" ? [message] : [],
    );
    const unhealthy = 'service unhealthy (responded with "NOT_SERVING")';
    expect(said).toContainEqual(expect.stringMatching(/^Startup probe failed: (timeout|service unhealthy)/));
    expect(said).toContain(`Readiness probe failed: ${unhealthy}`);
    expect(said).toContain(`Liveness probe failed: ${unhealthy}`);
    expect(said).toContain("Container c failed liveness probe, will be restarted");
    await pods.remove("grpc");
  });

  test("a pod sees its environment, its volumes, its names and its token", async () => {
    await pods.client
      .kind(ConfigMap)
      .create({ metadata: { name: "settings", namespace }, data: { "app.conf": "a=1", extra: "no" } });
    await pods.client
      .kind(Secret)
      .create({ metadata: { name: "keys", namespace }, stringData: { token: "hidden" } });
    const script = [
      'echo "$WHO on $NODE as $(id -u):$(id -g)"',
      "cat /conf/app.conf /keys/token /info/labels; echo",
      "ls /conf",
      "stat -Lc %a /keys/token",
      "echo kept > /scratch/f && cat /scratch/f",
      "df -k /mem | tail -1 | awk '{print $2}'",
      "hostname",
      "cat /var/run/secrets/kubernetes.io/serviceaccount/namespace; echo",
      "wc -c < /var/run/secrets/kubernetes.io/serviceaccount/token | awk '{print ($1 > 100)}'",
      "echo done > /dev/termination-log",
      "exit 3",
    ].join("; ");
    const { pod, log } = await run("everything", {
      hostname: "named",
      securityContext: { runAsUser: 1000, runAsGroup: 1001, fsGroup: 1002 },
      containers: [
        {
          ...sh(script),
          env: [
            { name: "WHO", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
          ],
          volumeMounts: [
            { name: "conf", mountPath: "/conf" },
            { name: "keys", mountPath: "/keys", readOnly: true },
            { name: "info", mountPath: "/info" },
            { name: "scratch", mountPath: "/scratch" },
            { name: "mem", mountPath: "/mem" },
          ],
        },
      ],
      volumes: [
        { name: "conf", configMap: { name: "settings", items: [{ key: "app.conf", path: "app.conf" }] } },
        { name: "keys", secret: { secretName: "keys", defaultMode: 0o440 } },
        {
          name: "info",
          downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.name" } }] },
        },
        { name: "scratch", emptyDir: {} },
        { name: "mem", emptyDir: { medium: "Memory", sizeLimit: "4Mi" } },
      ],
    });
    expect(log.split("\n")).toEqual([
      expect.stringMatching(/^everything on (one|two) as 1000:1001$/),
      "a=1hiddeneverything",
      "app.conf",
      "440",
      "kept",
      "4096",
      "named",
      namespace,
      "1",
      "",
    ]);
    expect(pod?.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      exitCode: 3,
      reason: "Error",
      message: "done\n",
    });
  });

  test("a config map that changes changes in the volume, all at once", async () => {
    await pods.client
      .kind(ConfigMap)
      .create({ metadata: { name: "live", namespace }, data: { a: "1", b: "1" } });
    await pods.create("watcher", {
      restartPolicy: "Never",
      containers: [
        {
          ...sh('while [ "$(cat /c/a)" = 1 ]; do sleep 0.05; done; cat /c/a /c/b'),
          volumeMounts: [{ name: "c", mountPath: "/c" }],
        },
      ],
      volumes: [{ name: "c", configMap: { name: "live" } }],
    });
    await pods.until("watcher", isReady);
    await pods.client
      .kind(ConfigMap)
      .patch({ namespace, name: "live" }, { type: "merge", body: { data: { a: "2", b: "2" } } });
    await pods.until("watcher", isOver);
    expect(await pods.log("watcher")).toBe("22");
  });

  test("datagrams reach a service and a pod on the machine's loopback", async () => {
    const echo = 'require("node:dgram").createSocket("udp4")';
    const server = `const s = ${echo}; s.on("message", (m, from) => s.send("heard " + m, from.port, from.address)); s.bind(5353)`;
    const ports = [{ containerPort: 5353, hostPort: 15_353, protocol: "UDP" as const }];
    await pods.create(
      "echo",
      { containers: [{ name: "c", image: "node", command: ["node", "-e", server], ports }] },
      { app: "echo" },
    );
    await pods.until("echo", isReady);
    const service = await pods.client.kind(Service).create({
      metadata: { name: "echo", namespace },
      spec: {
        type: "NodePort",
        selector: { app: "echo" },
        ports: [{ port: 53, targetPort: 5353, protocol: "UDP" }],
      },
    });
    for (const port of [service.spec?.ports?.[0]?.nodePort ?? 0, 15_353]) {
      const socket = createSocket("udp4");
      const answered = once(socket, "message");
      // Datagrams may be lost, and are until the service has its endpoint.
      const sending = setInterval(() => socket.send("hello", port, "127.0.0.1"), 50);
      expect(String((await answered)[0])).toBe("heard hello");
      clearInterval(sending);
      socket.close();
    }
    await pods.client.kind(Service).delete({ name: "echo", namespace });
    await pods.remove("echo");
  });

  test("services are found by name, answer on their address and on the machine's loopback", async () => {
    const web = {
      name: "c",
      image: "nginx:1.22",
      readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 },
    };
    await pods.create("web-a", { nodeName: "one", containers: [web] }, { app: "web" });
    await pods.create("web-b", { nodeName: "two", containers: [web] }, { app: "web" });
    const service = await pods.client.kind(Service).create({
      metadata: { name: "web", namespace },
      spec: { type: "NodePort", selector: { app: "web" }, ports: [{ port: 8080, targetPort: 80 }] },
    });
    await Promise.all(["web-a", "web-b"].map((name) => pods.until(name, isReady)));
    const loop =
      "for i in 1 2 3 4 5 6 7 8; do wget -qO- http://web:8080/ | grep -c Welcome || sleep 0.2; done";
    const { log } = await run("client", {
      containers: [sh(`until wget -qO- http://web:8080 >/dev/null 2>&1; do sleep 0.05; done; ${loop}`)],
    });
    expect(log.trim().split("\n")).toHaveLength(8);
    const nodePort = service.spec?.ports?.[0]?.nodePort;
    expect(await (await fetch(`http://127.0.0.1:${nodePort}/`)).text()).toContain("Welcome to nginx!");
  });

  test("a pod that is deleted ends by its own signal handler and leaves", async () => {
    await pods.create("polite", { containers: [sleeper], terminationGracePeriodSeconds: 30 });
    await pods.until("polite", isReady);
    await pods.remove("polite");
    expect(await pods.until("polite", isGone)).toBeUndefined();
  });

  test("a container beyond its memory is killed for it", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("limits of memory need cgroups that only root may change here");
    const { pod } = await run("hungry", {
      containers: [
        { ...sh("head -c 100000000 /dev/zero | tail"), resources: { limits: { memory: "16Mi" } } },
      ],
    });
    const end = pod?.status?.containerStatuses?.[0]?.state?.terminated;
    // The shell's child is what grew: the shell may report it, or be the one that is killed.
    expect(end?.exitCode).not.toBe(0);
    expect(end?.reason).toBe("OOMKilled");
  });

  test("a claim keeps its data when its pod is replaced", async () => {
    await pods.client.kind(PersistentVolume).create({
      metadata: { name: "disk" },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "manual",
        hostPath: { path: `${pods.home}/disk` },
      },
    });
    await pods.client.kind(PersistentVolumeClaim).create({
      metadata: { name: "data", namespace },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "manual",
        resources: { requests: { storage: "1Gi" } },
      },
    });
    const spec = (script: string) => ({
      containers: [{ ...sh(script), volumeMounts: [{ name: "d", mountPath: "/d" }] }],
      volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }],
    });
    await run("writer", spec("echo precious > /d/f"));
    expect((await run("reader", spec("cat /d/f"))).log).toBe("precious\n");
    await mkdir(`${pods.home}/disk/busy`);
    let isLost = false;
    const write = async () => {
      for (let n = 0; !isLost; n++) await writeFile(`${pods.home}/disk/busy/${n}`, "").catch(() => undefined);
    };
    const writing = Promise.all(Array.from({ length: 8 }, write));
    await pods.nodes.inject({ kind: "loseVolume", volume: "disk", path: `${pods.home}/disk` });
    isLost = true;
    await writing;
    expect((await run("loser", spec("ls /d | wc -l"))).log.trim()).toBe("0");
  });
});

describe.skipIf(reason !== undefined)(titled("without a packet filter", reason), { timeout: 120_000 }, () => {
  test("services answer all the same, and an empty one refuses", async () => {
    await using pods = await realPods(["one"], { userspaceServices: true });
    const web = {
      name: "c",
      image: "nginx:1.22",
      readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 },
    };
    await pods.create("web", { containers: [web] }, { app: "web" });
    const create = (name: string, app: string) =>
      pods.client.kind(Service).create({
        metadata: { name, namespace },
        spec: { selector: { app }, ports: [{ port: 8080, targetPort: 80 }] },
      });
    await Promise.all([create("web", "web"), create("empty", "nobody")]);
    await pods.until("web", isReady);
    const script =
      "until wget -qO- http://web:8080 | grep Welcome; do sleep 0.05; done; wget -qO- http://empty:8080 || echo refused";
    await pods.create("client", { restartPolicy: "Never", containers: [sh(script)] });
    await pods.until("client", isOver);
    expect(await pods.log("client")).toContain("refused");
  });
});

describe.skipIf(reason !== undefined)(titled("faults", reason), { timeout: 120_000 }, () => {
  let pods: RealPods;
  const ref = (name: string) => ({ namespace, name });
  beforeAll(async () => {
    pods = await realPods(["one"]);
    const probe = { httpGet: { port: 80 }, periodSeconds: 1, failureThreshold: 1 };
    await pods.create(
      "web",
      {
        containers: [
          { name: "c", image: "nginx:1.22", ports: [{ containerPort: 80 }], readinessProbe: probe },
        ],
      },
      { app: "web" },
    );
    await pods.create("box", {
      containers: [{ ...sleeper, volumeMounts: [{ name: "m", mountPath: "/m" }] }],
      volumes: [{ name: "m", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }],
    });
    await Promise.all(["web", "box"].map((name) => pods.until(name, isReady)));
  }, 300_000);
  afterAll(async () => await pods?.[Symbol.asyncDispose]());

  const address = async () => (await pods.until("web", isReady))?.status?.podIP ?? "";
  /** Asks web from a pod of its own; "down" when it cannot be reached. */
  let asked = 0;
  const ask = async (then = "", labels = {}) => {
    const name = `ask-${asked++}`;
    const script = `timeout 2 wget -qO- http://${await address()}/ >/dev/null 2>&1 && echo up || echo down; ${then}`;
    await pods.create(name, { restartPolicy: "Never", containers: [sh(script)] }, labels);
    await pods.until(name, isOver);
    return (await pods.log(name)).trim();
  };

  test("killed processes come back as a restart", async () => {
    await pods.nodes.inject({ kind: "kill", pod: ref("box") });
    const pod = await pods.until(
      "box",
      (seen) => isReady(seen) && seen?.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(pod?.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(137);
  });

  test("frozen processes fail their probes and recover when they thaw", async () => {
    await pods.nodes.inject({ kind: "freeze", pod: ref("web"), frozen: true });
    await pods.until("web", (seen) => !isReady(seen));
    await pods.nodes.inject({ kind: "freeze", pod: ref("web"), frozen: false });
    const pod = await pods.until("web", isReady);
    expect(pod?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  test("a cut keeps others away until the network is restored, and probes do not notice", async () => {
    expect(await ask()).toBe("up");
    await pods.nodes.inject({ kind: "cut", pod: ref("web"), direction: "in" });
    expect(await ask()).toBe("down");
    expect(isReady(await pods.until("web", () => true))).toBe(true);
    await pods.nodes.inject({ kind: "mend" });
    expect(await ask()).toBe("up");
  });

  test("a NetworkPolicy lets those in whom it names, and nobody else", async () => {
    const policies = pods.client.kind(NetworkPolicy);
    const friend = { matchLabels: { friend: "yes" } };
    await policies.create({
      metadata: { name: "friends", namespace },
      spec: { podSelector: { matchLabels: { app: "web" } }, ingress: [{ from: [{ podSelector: friend }] }] },
    });
    await expect.poll(() => ask(), { timeout: 60_000 }).toBe("down");
    // The filter knows the pod that asks a moment after that has begun.
    await expect.poll(() => ask("", friend.matchLabels), { timeout: 60_000 }).toBe("up");
    expect(isReady(await pods.until("web", () => true))).toBe(true);
    await policies.delete({ namespace, name: "friends" });
    await expect.poll(() => ask(), { timeout: 60_000 }).toBe("up");
  });

  test("a delay makes answers late", async () => {
    await pods.nodes.inject({ kind: "delay", pod: ref("web"), delayMs: 1_500 });
    expect(await ask()).toBe("down");
    await pods.nodes.inject({ kind: "delay", pod: ref("web"), delayMs: 0 });
    expect(await ask()).toBe("up");
  });

  test("a capped volume can be filled and freed, another one is refused", async () => {
    await pods.nodes.inject({ kind: "fillDisk", pod: ref("box"), volume: "m" });
    await pods.nodes.inject({ kind: "freeDisk", pod: ref("box"), volume: "m" });
    const wrong = pods.nodes.inject({ kind: "fillDisk", pod: ref("web"), volume: "m" });
    await expect(wrong).rejects.toThrow("has no volume m");
  });

  test("a node that loses power takes its pods with it, and brings them back", async () => {
    await pods.nodes.inject({ kind: "nodeDown", node: "one" });
    await pods.nodes.inject({ kind: "nodeUp", node: "one" });
    const pod = await pods.until(
      "web",
      (seen) => isReady(seen) && (seen?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    expect(pod?.status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({
      exitCode: 255,
      reason: "Unknown",
    });
  });

  test("what is not there is named", async () => {
    await expect(pods.nodes.inject({ kind: "kill", pod: ref("ghost") })).rejects.toThrow(
      "pod default/ghost is not on this node",
    );
  });

  test("containers of a pod that shares its processes see each other, and nothing of the node", async () => {
    await pods.create("family", {
      shareProcessNamespace: true,
      containers: [
        { ...sh("exec sleep 1001"), name: "one" },
        { ...sh("exec sleep 1002"), name: "two" },
      ],
    });
    await pods.until("family", isReady);
    await pods.client
      .kind(Pod)
      .subresource("ephemeralcontainers")
      .patch(
        { namespace, name: "family" },
        {
          type: "strategic",
          body: {
            spec: {
              ephemeralContainers: [
                { ...sh("ps -o args | grep -v grep"), name: "look", targetContainerName: "one" },
              ],
            },
          },
        },
      );
    await pods.until("family", (pod) => !!pod?.status?.ephemeralContainerStatuses?.[0]?.state?.terminated);
    const seen = String(
      await pods.client.raw({ path: `/api/v1/namespaces/${namespace}/pods/family/log?container=look` }),
    );
    expect(seen).toContain("sleep 1001");
    expect(seen).toContain("sleep 1002");
    expect(seen).not.toContain("inside.ts");
    await pods.remove("family");
    await pods.until("family", isGone);
  });

  test("a container whose image is changed is started again, and one that is resized is not", async () => {
    await pods.create("changing", {
      containers: [{ ...sleeper, resources: { requests: { cpu: "50m" }, limits: { cpu: "200m" } } }],
    });
    const before = await pods.until("changing", isReady);
    const first = (pod: typeof before) => pod?.status?.containerStatuses?.[0];
    const change = (container: object, subresource?: "resize") => {
      const kind = pods.client.kind(Pod);
      const body = { spec: { containers: [{ name: "c", ...container }] } };
      const target = { namespace, name: "changing" };
      return subresource === undefined
        ? kind.patch(target, { type: "strategic", body })
        : kind.subresource(subresource).patch(target, { type: "strategic", body });
    };
    await change({ resources: { limits: { cpu: "300m" } } }, "resize");
    const resized = await pods.until("changing", (pod) => first(pod)?.resources?.limits?.cpu === "300m");
    expect(first(resized)?.containerID).toBe(first(before)?.containerID);
    await change({ image: "debian" });
    const restarted = await pods.until("changing", (pod) => isReady(pod) && first(pod)?.image === "debian");
    expect(first(restarted)?.restartCount).toBe(1);
    await pods.remove("changing");
  });

  test("a resize for which the node has no room waits until it has", async () => {
    const { status } = await pods.client.kind(Node).get({ name: "one" });
    const milli = Number(Quantity.from(status?.allocatable?.["cpu"] ?? "0").milliValue());
    const asking = (amount: number) => ({
      nodeName: "one",
      containers: [{ ...sleeper, resources: { requests: { cpu: `${amount}m` } } }],
    });
    await pods.create("large", asking(milli - 500));
    await pods.create("small", asking(100));
    await pods.until("large", isReady);
    await pods.until("small", isReady);
    const cpu = milli - 200;
    await pods.client
      .kind(Pod)
      .subresource("resize")
      .patch(
        { namespace, name: "small" },
        {
          type: "strategic",
          body: { spec: { containers: [{ name: "c", resources: { requests: { cpu: `${cpu}m` } } }] } },
        },
      );
    const pending = (pod: Awaited<ReturnType<RealPods["until"]>>) =>
      pod?.status?.conditions?.find(({ type }) => type === "PodResizePending");
    const granted = (pod: Awaited<ReturnType<RealPods["until"]>>) =>
      pod?.status?.containerStatuses?.[0]?.allocatedResources?.["cpu"];
    const waiting = await pods.until("small", (pod) => pending(pod) !== undefined);
    expect(pending(waiting)).toMatchObject({
      status: "True",
      reason: "Deferred",
      // Others that are still leaving count as well.
      message: expect.stringMatching(
        `^Node didn't have enough resource: cpu, requested: ${cpu}, used: \\d+, capacity: ${milli}$`,
      ),
    });
    expect(granted(waiting)).toBe("100m");
    await pods.remove("large");
    const resized = await pods.until("small", (pod) => pending(pod) === undefined);
    expect(Quantity.from(granted(resized) ?? "0").milliValue()).toBe(BigInt(cpu));
    expect(resized?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    await pods.remove("small");
  });
});
