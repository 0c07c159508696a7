// Follows the bench's custom resources with @kubernetes/client-node's informer, and says what it cost.
import { finish, watchStalls } from "../src/cost.ts";

const importing = process.cpuUsage();
const { CustomObjectsApi, KubeConfig, makeInformer } = await import("@kubernetes/client-node");
const importCpuMs = cpuMs(process.cpuUsage(importing));
const [kubeconfig, group, plural, count] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const api = config.makeApiClient(CustomObjectsApi);
const stalls = watchStalls();
const before = process.cpuUsage();
const began = performance.now();
let seen = 0;
const informer = makeInformer(config, `/apis/${group}/v1/${plural}`, () =>
  api.listClusterCustomObject({ group, version: "v1", plural }),
);
informer.on("add", () => {
  if (++seen === Number(count)) {
    finish({
      importCpuMs,
      syncMs: performance.now() - began,
      cpuMs: cpuMs(process.cpuUsage(before)),
      stalls,
      keep: informer,
    });
  }
});
await informer.start();

function cpuMs({ user, system }) {
  return (user + system) / 1000;
}
