/** The node on the real control plane: it is a kubelet to it like any other. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ControlPlane, startControlPlane } from "@keelson/reference/control-plane";
import { locateKubernetes } from "@keelson/reference/locate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNodes } from "../src/index.ts";
import { titled, whyNoSandbox } from "./node-machine.ts";

const found = locateKubernetes();
const reason = (await whyNoSandbox()) ?? ("missing" in found ? found.missing : undefined);

const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
      - name: nginx
        image: nginx:1.22
        readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
---
apiVersion: batch/v1
kind: Job
metadata: { name: client }
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: busybox
        command: [sh, -c, "until wget -qO- http://web | grep Welcome; do sleep 0.1; done"]
`;

const suite = titled("on the real control plane", reason);
describe.skipIf(reason !== undefined)(suite, { timeout: 120_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "kn-"));
  const stack = new AsyncDisposableStack();
  let plane: ControlPlane;
  const kubectl = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(plane.kubectl, ["--kubeconfig", plane.kubeconfig, ...args]);
    return stdout;
  };
  beforeAll(async () => {
    plane = stack.use(await startControlPlane({ controllers: true, scheduler: true }));
    stack.use(
      await startNodes({
        kubeconfig: plane.kubeconfig,
        names: ["one"],
        dataDirectory: home,
        simulate: "never",
      }),
    );
  }, 300_000);
  afterAll(async () => {
    await stack.disposeAsync();
    rmSync(home, { recursive: true, force: true });
  });

  test("a deployment rolls out, its service answers, and kubectl gets in", async () => {
    writeFileSync(join(home, "all.yaml"), manifest);
    await kubectl("apply", "-f", join(home, "all.yaml"));
    await kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    await kubectl("wait", "--for=condition=complete", "job/client", "--timeout=60s");
    expect(await kubectl("logs", "job/client")).toContain("Welcome to nginx!");
    expect(await kubectl("exec", "deployment/web", "--", "sh", "-c", "echo $KUBERNETES_SERVICE_HOST")).toBe(
      "10.96.0.1\n",
    );
  });

  test("what we report, the real server takes without a correction", async () => {
    const pod = JSON.parse(await kubectl("get", "pods", "-l", "app=web", "-o", "json")).items[0];
    expect(
      pod.status.conditions.map(({ type, status }: { type: string; status: string }) => `${type}=${status}`),
    ).toEqual([
      "PodReadyToStartContainers=True",
      "Initialized=True",
      "Ready=True",
      "ContainersReady=True",
      "PodScheduled=True",
    ]);
    expect(pod.status.observedGeneration).toBe(pod.metadata.generation);
    const node = JSON.parse(await kubectl("get", "node", "one", "-o", "json"));
    expect(node.status.conditions.map(({ type }: { type: string }) => type)).toEqual([
      "MemoryPressure",
      "DiskPressure",
      "PIDPressure",
      "ConfinementIncomplete",
      "Ready",
    ]);
  });

  test("a deleted pod is replaced and the old one leaves", async () => {
    const before = (await kubectl("get", "pods", "-l", "app=web", "-o", "name")).trim().split("\n");
    await kubectl("delete", before[0] ?? "", "--timeout=60s");
    await kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    const after = (await kubectl("get", "pods", "-l", "app=web", "-o", "name")).trim().split("\n");
    expect(after).toHaveLength(2);
    expect(after).not.toContain(before[0]);
  });
});
