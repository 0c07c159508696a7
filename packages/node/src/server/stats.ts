/** What containers use, in the two forms that others read: the kubelet's summary and Prometheus text. */
import { type Clock, formatTime } from "@keelson/core";
import type { PodWorker } from "../kubelet/pod-worker.ts";

interface Usage {
  readonly worker: PodWorker;
  readonly container: string;
  readonly memoryBytes: number;
  readonly cpuNanoseconds: number;
}

async function usageOf(workers: readonly PodWorker[]): Promise<Usage[]> {
  const running = workers.flatMap((worker) => worker.containers.allRunning().map((one) => ({ worker, one })));
  return await Promise.all(
    running.map(async ({ worker, one }) => ({
      worker,
      container: one.record.name,
      ...(await one.handle.usage()),
    })),
  );
}

export async function statsSummary(
  nodeName: string,
  workers: readonly PodWorker[],
  clock: Clock,
): Promise<unknown> {
  const usage = await usageOf(workers);
  const time = formatTime(clock.now());
  const figures = (cpu: number, memory: number) => ({
    cpu: { time, usageCoreNanoSeconds: Math.round(cpu) },
    memory: { time, usageBytes: memory, workingSetBytes: memory, rssBytes: memory },
  });
  const sum = (list: readonly Usage[]) =>
    figures(
      list.reduce((total, { cpuNanoseconds }) => total + cpuNanoseconds, 0),
      list.reduce((total, { memoryBytes }) => total + memoryBytes, 0),
    );
  return {
    node: { nodeName, startTime: time, ...sum(usage) },
    pods: workers.map((worker) => {
      const own = usage.filter((one) => one.worker === worker);
      const { name, namespace, uid } = worker.pod.metadata;
      return {
        podRef: { name, namespace, uid },
        startTime: worker.pod.status?.startTime ?? time,
        containers: own.map((one) => ({
          name: one.container,
          startTime: time,
          ...figures(one.cpuNanoseconds, one.memoryBytes),
        })),
        ...sum(own),
      };
    }),
  };
}

export async function resourceMetrics(workers: readonly PodWorker[], clock: Clock): Promise<string> {
  const usage = await usageOf(workers);
  const at = Math.round(clock.now());
  const labels = ({ worker, container }: Usage) => {
    const { name, namespace } = worker.pod.metadata;
    return `{container="${container}",namespace="${namespace}",pod="${name}"}`;
  };
  return [
    "# TYPE container_cpu_usage_seconds_total counter",
    ...usage.map(
      (one) => `container_cpu_usage_seconds_total${labels(one)} ${one.cpuNanoseconds / 1e9} ${at}`,
    ),
    "# TYPE container_memory_working_set_bytes gauge",
    ...usage.map((one) => `container_memory_working_set_bytes${labels(one)} ${one.memoryBytes} ${at}`),
    "# TYPE resource_scrape_error gauge",
    "resource_scrape_error 0",
    "",
  ].join("\n");
}
