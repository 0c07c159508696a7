// Loads what a watching program needs of @kubernetes/client-node.
import { cpuMs, report, rssMb } from "./cost.mjs";

const cpu = cpuMs();
const began = performance.now();
const { CustomObjectsApi, KubeConfig, makeInformer } = await import("@kubernetes/client-node");
const ms = performance.now() - began;
report({
  ms,
  cpuMs: cpuMs() - cpu,
  rssMb: rssMb(),
  loaded: [CustomObjectsApi, KubeConfig, makeInformer].length,
});
