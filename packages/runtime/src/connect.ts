/** Ways to an application's port: its own address inside the cluster, a forwarded port from outside. */
import type { Client } from "@keelson/client";
import { dynamicKind, keyOf, type ObjectRef } from "@keelson/core";
import type { Connection, ConnectTarget } from "./context.ts";
import { RuntimeError } from "./errors.ts";

/** Opens a way to a port of a pod or service; `namespace` is the default for a target that names none. */
export type Connector = (
  target: ConnectTarget,
  port: number,
  options: { readonly namespace: string | undefined; readonly signal: AbortSignal },
) => Promise<Connection>;

const Pod = dynamicKind({ group: "", version: "v1", kind: "Pod", resource: "pods", scope: "Namespaced" });

/** Addresses as they are inside the cluster. Nothing is opened, so there is nothing to close. */
export function directConnector(client: Client): Connector {
  return async (target, port, { namespace, signal }) => {
    const host =
      "service" in target ? serviceHost(target.service, namespace) : await podIp(target.pod, namespace);
    return { host, port, [Symbol.asyncDispose]: async () => {} };

    async function podIp(pod: ObjectRef, home: string | undefined): Promise<string> {
      const ref = { namespace: pod.namespace ?? home, name: pod.name };
      const object = (await client.kind(Pod).find(ref, { signal })) as
        | { status?: { podIP?: string } }
        | undefined;
      const ip = object?.status?.podIP;
      if (ip) return ip;
      throw new RuntimeError(
        "Unreachable",
        `cannot connect to port ${port} of Pod ${keyOf(ref)}: ${object ? "it has no address yet" : "it does not exist"}`,
      );
    }
  };
}

function serviceHost(service: ObjectRef, home: string | undefined): string {
  return `${service.name}.${service.namespace ?? home ?? "default"}.svc`;
}
