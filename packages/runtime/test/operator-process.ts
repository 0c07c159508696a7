/** An operator in a process of its own, for tests of its life and its end. */

import { apiServer } from "@keelson/apiserver";
import { ClientError, createClient } from "@keelson/client";
import { dynamicKind } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { allow, operator } from "@keelson/runtime";
import { rawController, watch } from "@keelson/runtime/internal";

const [mode = "runs", kubeconfig = "", identity = ""] = process.argv.slice(2);

const missing = dynamicKind({
  group: "nowhere.io",
  version: "v1",
  kind: "Missing",
  resource: "missings",
  scope: "Namespaced",
});

if (mode === "elected") {
  // Writes its name on every ConfigMap that asks for it.
  const signer = rawController({
    name: "signer",
    watches: { configs: watch(ConfigMap, { labels: "sign=please" }) },
    writes: [allow(ConfigMap, ["patch"])],
    async reconcile(key, ctx) {
      const config = ctx.caches.configs.get(key);
      if (!config || config.data?.["signed"]) return;
      await ctx
        .kind(ConfigMap)
        .patch(config.metadata, { type: "merge", body: { data: { signed: identity } } });
    },
  });
  await operator({
    controllers: [signer],
    client: { kubeconfig },
    leaderElection: {
      identity,
      leaseMs: 4_000,
      renewDeadlineMs: 3_200,
      renewEveryMs: 400,
      writeTimeoutMs: 700,
    },
  }).run();
} else if (mode === "alone") {
  // In a pod, and nobody answers.
  process.env["KUBERNETES_SERVICE_HOST"] = "127.0.0.1";
  const request = async () => {
    throw new ClientError("ConnectionFailed", "nobody listens there");
  };
  const idle = rawController({
    name: "idle",
    watches: { configs: watch(ConfigMap) },
    reconcile: async () => {},
  });
  const client = createClient({ http: { request }, retries: 0 });
  await operator({ controllers: [idle], client, endpoints: false }).run();
} else if (mode === "stuck") {
  // Listens to nobody, and keeps the process alive.
  const server = await apiServer();
  const stuck = rawController({
    name: "stuck",
    watches: { configs: watch(ConfigMap) },
    reconcile: async () => {
      console.log("stuck for ever");
      await new Promise(() => setInterval(() => {}, 1_000));
    },
  });
  const client = createClient({ http: server.http });
  await client.kind(ConfigMap).create({ metadata: { namespace: "default", name: "a" } });
  await operator({ controllers: [stuck], client, shutdownMs: 100 }).run();
} else if (mode === "open") {
  // Something of the author's own keeps the process alive.
  setInterval(() => {}, 1_000);
  const server = await apiServer();
  const idle = rawController({
    name: "idle",
    watches: { configs: watch(ConfigMap) },
    reconcile: async () => console.log("at work"),
  });
  const client = createClient({ http: server.http });
  await client.kind(ConfigMap).create({ metadata: { namespace: "default", name: "a" } });
  await operator({
    controllers: [idle],
    client,
    logLevel: "warn",
    shutdownMs: 100,
  }).run();
  console.log("run() has ended");
} else {
  const server = await apiServer();
  const controller = rawController({
    name: "test",
    watches: { objects: watch(mode === "missing-kind" ? missing : ConfigMap) },
    reconcile: async () => {},
  });
  await operator({ controllers: [controller], client: createClient({ http: server.http }) }).run();
}
