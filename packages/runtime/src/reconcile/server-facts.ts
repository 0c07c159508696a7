/** What a reconcile may ask of the server beside objects. */
import type { Client } from "@keelson/client";
import type { ServerFacts } from "../controller/context.ts";

export function serverFacts(client: Client, signal: () => AbortSignal): ServerFacts {
  return {
    discover: async (apiVersion, kind) => await client.discover(apiVersion, kind, { signal: signal() }),
    read: async (path) => await client.raw({ path, signal: signal() }),
  };
}
