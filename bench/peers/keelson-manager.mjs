// A manager of many custom resources with a child each. `prepare` makes the resources; otherwise it does what it is told on
// standard input: `start`, and `again` for a look at every object. After each it tells how many reconciles that took, once
// none has come for a while.
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { ConfigMap } from "@keelson/core/kinds";
import { controller, done, operator, silentLogger } from "@keelson/runtime";
import { internalsOf } from "@keelson/runtime/internal";
import { resource, z } from "keelson";

const Part = resource({
  group: "bench.keelson.dev",
  kind: "Part",
  version: "v1",
  spec: z.object({ size: z.int() }),
  status: z.object({ size: z.int().optional() }),
});
const args = process.argv.slice(2);
if (args[0] === "prepare") await prepare(...args.slice(1));
else await manage(...args);

async function manage(kubeconfig, namespace, count) {
  const objects = Number(count);
  let reconciles = 0;
  let lastAt = 0;
  const parts = controller(Part, {
    name: "parts",
    owns: { config: ConfigMap },
    concurrency: 16,
    reconcile: async (part, ctx) => {
      await ctx.own.config.apply({ data: { size: String(part.spec.size) } });
      ctx.setStatus({ size: part.spec.size });
      reconciles++;
      lastAt = performance.now();
      return done();
    },
  });
  const definition = operator({
    controllers: [parts],
    namespace,
    client: { kubeconfig },
    log: silentLogger,
    leaderElection: { namespace },
    endpoints: { port: 0, host: "127.0.0.1" },
  });
  let running;
  console.log("ready");
  for await (const command of createInterface(process.stdin)) {
    const [before, began] = [reconciles, performance.now()];
    if (command === "start") running = await definition.start();
    else for (const loop of internalsOf(running).loops) loop.resync();
    while (reconciles - before < objects || performance.now() - lastAt < 500) await delay(50);
    console.log(JSON.stringify({ reconciles: reconciles - before, ms: lastAt - began }));
  }
  process.exit(0);
}

async function prepare(kubeconfig, namespace, count) {
  const { connect } = await import("@keelson/client");
  const { Namespace } = await import("@keelson/core/kinds");
  const { install } = await import("@keelson/runtime");
  const client = await connect({ kubeconfig });
  await install(client, [Part]);
  await client.kind(Namespace).create({ metadata: { name: namespace } });
  const create = async (from) => {
    for (let index = from; index < Number(count); index += 16) {
      const metadata = { namespace, name: `part-${index}` };
      await client.kind(Part).create(Part.object({ metadata, spec: { size: index + 1 } }));
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, from) => create(from)));
  console.log("{}");
  process.exit(0);
}
