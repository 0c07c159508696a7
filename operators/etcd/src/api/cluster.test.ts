import { Quantity } from "keelson";
import { expect, test } from "vitest";
import { EtcdCluster } from "./cluster.ts";

test.each([
  ["nothing is said of storage", {}],
  ["its size is not said", { storage: { className: "fast" } }],
])("where %s, a volume has room for etcd's own quota of 2 GiB, and as much again", (_, said) => {
  const spec = { version: "3.6.16", ...said } as never;
  const { storage } = EtcdCluster.parse(EtcdCluster.object({ metadata: { name: "c" }, spec })).spec;
  expect(Quantity.from(storage.size).compare(Quantity.from("4Gi"))).toBeGreaterThanOrEqual(0);
});
