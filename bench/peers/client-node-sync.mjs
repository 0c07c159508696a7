// Follows the bench's custom resources with @kubernetes/client-node's informer, then reads each object once.
import { CustomObjectsApi, KubeConfig, makeInformer } from "@kubernetes/client-node";
import { inUse, measure, peakRssMb, report } from "./cost.mjs";

const [kubeconfig, group, plural, count] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const api = config.makeApiClient(CustomObjectsApi);
const before = inUse();
let end = measure();
const informer = makeInformer(config, `/apis/${group}/v1/${plural}`, () =>
  api.listClusterCustomObject({ group, version: "v1", plural }),
);
const failed = new Promise((_, reject) => informer.on("error", reject));
// The list and all its callbacks are over when this resolves, and the watch is open.
await Promise.race([informer.start(), failed]);
const sync = end();
const peakMb = peakRssMb();
const retained = inUse() - before;
end = measure();
const all = informer.list();
if (all.length !== Number(count)) throw new Error(`expected ${count} objects, got ${all.length}`);
let sum = 0;
for (const object of all) sum += object.spec.replicas + object.status.conditions.length;
const read = end();
report({ sync, peakRssMb: peakMb, retained, read, retainedAfterRead: inUse() - before, sum });
