// How long a change takes from the server's write to the reconcile of its key, in a raw controller.
import { dynamicKind } from "@keelson/core";
import { operator, silentLogger } from "@keelson/runtime";
import { internalsOf, rawController, watch } from "@keelson/runtime/internal";
import { latencies } from "./latencies.mjs";

const [kubeconfig, group, resource, count, events, rate, control] = process.argv.slice(2);
const kind = dynamicKind({ group, version: "v1", kind: "Item", resource, scope: "Namespaced" });
const taken = latencies(control, Number(events), Number(rate));
const items = rawController({
  name: "items",
  watches: { items: watch(kind) },
  reconcile: async (key, { caches }) => taken.see(caches.items.get(key)),
});
const running = await operator({ controllers: [items], client: { kubeconfig }, log: silentLogger }).start();
// The first reconcile of every object must be over.
while (!running.loops.every(({ queue }) => queue.idle))
  await new Promise((resolve) => setTimeout(resolve, 50));
if (internalsOf(running).informers.all()[0]?.cache.size !== Number(count))
  throw new Error("the cache is not complete");
await taken.run();
