// A manager of many custom resources with a child each: what its reconciles cost, and what it costs when nothing happens.
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "@keelson/client";
import { ConfigMap } from "@keelson/core/kinds";
import { controller, done, install, operator, silentLogger } from "@keelson/runtime";
import { resource, z } from "keelson";
import { cpuMs, report, rssMb } from "./cost.mjs";

const [kubeconfig, count, idleMs] = process.argv.slice(2);
const objects = Number(count);
const Part = resource({
  group: "bench.keelson.dev",
  kind: "Part",
  version: "v1",
  spec: z.object({ size: z.int() }),
  status: z.object({ size: z.int().optional() }),
});
const client = await connect({ kubeconfig });
await install(client, [Part]);
const names = Array.from({ length: objects }, (_, index) => `part-${index}`);
const create = async (from) => {
  for (let index = from; index < objects; index += 16) {
    const metadata = { namespace: "default", name: names[index] };
    await client.kind(Part).create(Part.object({ metadata, spec: { size: index } }));
  }
};
await Promise.all(Array.from({ length: 16 }, (_, from) => create(from)));

let reconciles = 0;
const parts = controller(Part, {
  name: "parts",
  owns: { config: ConfigMap },
  concurrency: 16,
  reconcile: async (part, ctx) => {
    reconciles++;
    await ctx.own.config.apply({ data: { size: String(part.spec.size) } });
    ctx.setStatus({ size: part.spec.size });
    return done();
  },
});
const definition = {
  controllers: [parts],
  client: { kubeconfig },
  log: silentLogger,
  leaderElection: true,
  endpoints: { port: 0, host: "127.0.0.1" },
};

/** What all reconciles cost until none waits any more. */
async function work(begin) {
  reconciles = 0;
  const cpu = cpuMs();
  const began = performance.now();
  const loop = await begin();
  while (reconciles < objects || !loop.queue.idle) await delay(5);
  const seconds = (performance.now() - began) / 1000;
  return { perSecond: reconciles / seconds, cpuUs: ((cpuMs() - cpu) * 1000) / reconciles, reconciles };
}

const running = await operator(definition).start();
await running.whenLeading;
const [loop] = running.loops;
const writing = await work(async () => loop);
await delay(2_000);
const checking = await work(async () => {
  loop.resync();
  return loop;
});
await delay(2_000);
globalThis.gc();
const cpu = cpuMs();
const before = reconciles;
await delay(Number(idleMs));
const idleShare = (cpuMs() - cpu) / Number(idleMs);
if (reconciles !== before) throw new Error(`${reconciles - before} reconciles although nothing happened`);
report({ writing, checking, idleShare, rssMb: rssMb() });
