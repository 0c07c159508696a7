// How long a change takes from the server's write to the handler of @kubernetes/client-node's informer.
import { CustomObjectsApi, KubeConfig, makeInformer } from "@kubernetes/client-node";
import { latencies } from "./latencies.mjs";

const [kubeconfig, group, plural, , events, rate, control] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const api = config.makeApiClient(CustomObjectsApi);
const taken = latencies(control, Number(events), Number(rate));
const informer = makeInformer(config, `/apis/${group}/v1/${plural}`, () =>
  api.listClusterCustomObject({ group, version: "v1", plural }),
);
const failed = new Promise((_, reject) => informer.on("error", reject));
informer.on("update", (object) => taken.see(object));
await Promise.race([informer.start(), failed]);
await taken.run();
