/** An API server that is killed under a running operator and comes back, over real sockets. */
import { connect } from "@keelson/client";
import { ConfigMap, Secret } from "@keelson/core/kinds";
import { controller, done, operator, silentLogger } from "@keelson/runtime";
import { expect, test } from "vitest";
import { startServerProcess } from "./server-process.ts";
import { eventually } from "./servers.ts";

const copier = controller(ConfigMap, {
  labels: "copy=please",
  owns: { secret: Secret },
  async reconcile(object, ctx) {
    await ctx.own.secret.apply({ stringData: object.data ?? {} });
    return done();
  },
});

test("an API server that is killed and starts again is followed from where it was", {
  timeout: 180_000,
}, async () => {
  await using server = await startServerProcess();
  const { client } = server;
  const at = (name: string) => ({ namespace: "default", name });
  const ask = async (name: string, value: string) =>
    await client
      .kind(ConfigMap)
      .apply({ metadata: { ...at(name), labels: { copy: "please" } }, data: { value } });
  const copied = async (name: string, value: string) =>
    await eventually(async () => {
      const { data } = await client.kind(Secret).get(at(name));
      expect(Buffer.from(data?.["value"] ?? "", "base64").toString()).toBe(value);
    }, 60_000);

  const own = await connect({ kubeconfig: server.kubeconfig });
  await using _own = { [Symbol.asyncDispose]: () => own.close() };
  await using running = await operator({ controllers: [copier], client: own, log: silentLogger }).start();
  await ask("a", "1");
  await copied("a", "1");
  const { uid } = (await client.kind(Secret).get(at("a"))).metadata;

  await server.restart();
  await ask("a", "2");
  await ask("b", "1");
  await copied("a", "2");
  await copied("b", "1");
  // What was there is still what was made before: nothing was deleted or made again on the way.
  expect((await client.kind(Secret).get(at("a"))).metadata.uid).toBe(uid);
  await eventually(() => expect(running.ready()).toBeUndefined(), 60_000);
});
