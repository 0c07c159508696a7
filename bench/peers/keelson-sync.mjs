// Follows the bench's custom resources with Keelson's informer, then reads each object once.
import { connect } from "@keelson/client";
import { dynamicKind, systemClock } from "@keelson/core";
import { Informer } from "@keelson/runtime/internal";
import { inUse, measure, peakRssMb, report } from "./cost.mjs";

const [kubeconfig, group, resource, count] = process.argv.slice(2);
const client = await connect({ kubeconfig });
const kind = dynamicKind({ group, version: "v1", kind: "Item", resource, scope: "Namespaced" });
const before = inUse();
let end = measure();
const informer = new Informer({ client, clock: systemClock, kind });
informer.start();
await informer.whenSynced();
const sync = end();
const peakMb = peakRssMb();
const retained = inUse() - before;
end = measure();
const { reader } = informer;
if (reader.size !== Number(count)) throw new Error(`expected ${count} objects, got ${reader.size}`);
let sum = 0;
for (const object of reader.list()) sum += object.spec.replicas + object.status.conditions.length;
const read = end();
report({ sync, peakRssMb: peakMb, retained, read, retainedAfterRead: inUse() - before, sum });
