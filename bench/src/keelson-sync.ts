/** Follows the bench's custom resources with our informer, and says what it cost. */
import { cpuMs, finish, watchStalls } from "./cost.ts";

const importing = process.cpuUsage();
const [{ connect, systemClock }, { Informer }, { dynamicKind }] = await Promise.all([
  import("@keelson/client"),
  import("@keelson/runtime"),
  import("@keelson/core"),
]);
const importCpuMs = cpuMs(process.cpuUsage(importing));
const [kubeconfig = "", group = "", resource = "", count = "0"] = process.argv.slice(2);
const client = await connect({ kubeconfig });
const kind = dynamicKind({ group, version: "v1", kind: "Item", resource, scope: "Namespaced" });
const stalls = watchStalls();
const before = process.cpuUsage();
const began = performance.now();
const informer = new Informer({ client, clock: systemClock, kind });
informer.start();
await informer.whenSynced();
if (informer.cache.size !== Number(count))
  throw new Error(`expected ${count} objects, got ${informer.cache.size}`);
const cost = cpuMs(process.cpuUsage(before));
finish({ importCpuMs, syncMs: performance.now() - began, cpuMs: cost, stalls, keep: informer });
