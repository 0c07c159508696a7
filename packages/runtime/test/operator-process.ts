/** An operator in a process of its own, for tests of its end. */
import { createClient } from "@keelson/client";
import { apiServer } from "@keelson/cluster/apiserver";
import { dynamicKind } from "@keelson/core";
import { ConfigMap } from "@keelson/core/kinds";
import { operator, rawController, watch } from "@keelson/runtime";

const missing = dynamicKind({
  group: "nowhere.io",
  version: "v1",
  kind: "Missing",
  resource: "missings",
  scope: "Namespaced",
});
const server = await apiServer();
const controller = rawController({
  name: "test",
  watches: { objects: watch(process.argv[2] === "missing-kind" ? missing : ConfigMap) },
  reconcile: async () => {},
});
await operator({ controllers: [controller], client: createClient({ http: server.http }) }).run();
