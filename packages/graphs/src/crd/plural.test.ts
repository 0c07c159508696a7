/** Plurals, as kro makes them. */
import { expect, test } from "vitest";
import { pluralOf } from "./plural.ts";

test.each([
  ["WebApp", "webapps"],
  ["Policy", "policies"],
  ["Gateway", "gateways"],
  ["NetworkStack", "networkstacks"],
  ["Ingress", "ingresses"],
  ["Status", "statuses"],
  ["Settings", "settings"],
  ["Redis", "redis"],
  ["Postgres", "postgres"],
  ["Database", "databases"],
  ["Proxy", "proxies"],
  ["Matrix", "matrices"],
  ["Index", "indices"],
  ["Analysis", "analyses"],
  ["Repo", "repoes"],
  ["Photo", "photos"],
  ["Leaf", "leaves"],
  ["Box", "boxes"],
  ["Batch", "batches"],
  ["CheckArbitraryObjectsNoOp", "checkarbitraryobjectsnoops"],
  ["Metadata", "metadata"],
])("%s → %s", (kind, plural) => {
  expect(pluralOf(kind)).toBe(plural);
});
