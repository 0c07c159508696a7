/** The objects that every server begins with. */
import { parseApiVersion } from "@keelson/core";
import { ownedByServer } from "../bootstrap/owners.ts";
import { withStatus } from "../bootstrap/status.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { Registry } from "../registry/registry.ts";
import type { PluginStore } from "./plugin-store.ts";

/** Writes what is not there yet, as it is: it passes through no validation. */
export function writeFirstObjects(
  store: PluginStore,
  registry: Registry,
  objects: readonly ApiObject[],
  nowMs: number,
): void {
  for (const object of objects) {
    const { group } = parseApiVersion(String(object.apiVersion));
    const resource = registry.byKind(group, String(object.kind));
    if (!resource) continue;
    if (store.get(resource, object.metadata.namespace ?? "", object.metadata.name)) continue;
    store.seed(resource, withStatus(ownedByServer(object, nowMs), nowMs));
  }
}
