/** Metrics of pods, read by `kubectl top`, and an autoscaler that acts on them. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Promised } from "../promises/promises.ts";
import type { Machine } from "./machine.ts";

const busy = { app: "busy" };

/** Works as long as its file is there. */
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "busy" },
  spec: {
    selector: { matchLabels: busy },
    template: {
      metadata: { labels: busy },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: "busy",
            image: "busybox",
            command: ["sh", "-c", "touch /work; while true; do [ -e /work ] || sleep 1; done"],
            resources: { requests: { cpu: "100m" }, limits: { cpu: "200m" } },
          },
        ],
      },
    },
  },
};

const autoscaler = {
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "busy" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "busy" },
    minReplicas: 1,
    maxReplicas: 3,
    metrics: [
      {
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
      },
    ],
    behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
  },
};

async function replicas(machine: Machine): Promise<number> {
  return Number(await machine.kubectl("get", "deployment", "busy", "-o", "jsonpath={.spec.replicas}"));
}

async function until(what: string, condition: () => Promise<boolean>): Promise<number> {
  const began = performance.now();
  while (!(await condition())) {
    if (performance.now() - began > 180_000) throw new Error(`not within three minutes: ${what}`);
    await sleep(500);
  }
  return Math.round((performance.now() - began) / 1_000);
}

export const autoscaling: Promised<Machine> = {
  id: "autoscale",
  promise:
    "`kubectl top` shows what pods use; an autoscaler goes from one pod to three under load and back without it",
  async run(machine) {
    await machine.keelson("cluster", "up");
    await machine.apply(deployment, autoscaler);
    await machine.kubectl("rollout", "status", "deployment/busy", "--timeout=60s");
    let used = "";
    await until("metrics of the pod", async () => {
      used = await machine.kubectl("top", "pods", "--no-headers").catch(() => "");
      return Number(/^busy-\S+ +(\d+)m +\d+Mi/m.exec(used)?.[1] ?? 0) >= 50;
    });
    const node = await machine.kubectl("top", "nodes", "--no-headers");
    if (!/ [1-9]\d*m +\d+% +[1-9]\d*Mi /.test(node)) throw new Error(`the node uses nothing: ${node}`);
    const grown = await until("three pods", async () => (await replicas(machine)) === 3);
    const names = await machine.kubectl("get", "pods", "-l", "app=busy", "-o", "name");
    await machine.kubectl("rollout", "status", "deployment/busy", "--timeout=60s");
    for (const name of names.trim().split("\n")) await machine.kubectl("exec", name, "--", "rm", "/work");
    const shrunk = await until("one pod", async () => (await replicas(machine)) === 1);
    return `${used.trim().split(/ +/)[1]} of 200m used; three pods after ${grown} s, one ${shrunk} s after the load`;
  },
};
