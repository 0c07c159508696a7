/** Ways to an application's port: its own address inside the cluster, a forwarded port from outside. */
import { type Client, pods } from "@keelson/client";
import {
  type Condition,
  dynamicKind,
  findCondition,
  formatLabelSelector,
  keyOf,
  labelSelectorFromLabels,
  type ObjectRef,
  type Stored,
} from "@keelson/core";
import type { Connection, ConnectTarget } from "../controller/context.ts";
import { RuntimeError } from "../errors.ts";

/** The client and the namespace that a connection belongs to. */
export interface ConnectScope {
  /** For a target that names none. */
  readonly namespace: string | undefined;
  readonly signal: AbortSignal;
}

/** Opens a way to a port of a pod or service. */
export type Connector = (target: ConnectTarget, port: number, scope: ConnectScope) => Promise<Connection>;

const Pod = dynamicKind({ group: "", version: "v1", kind: "Pod", resource: "pods", scope: "Namespaced" });
const Service = dynamicKind({
  group: "",
  version: "v1",
  kind: "Service",
  resource: "services",
  scope: "Namespaced",
});

interface PodObject extends Stored {
  spec?: { containers?: { ports?: { name?: string; containerPort: number }[] }[] };
  status?: { podIP?: string; conditions?: Condition[] };
}

interface ServiceObject extends Stored {
  spec?: {
    selector?: Record<string, string>;
    ports?: { port: number; targetPort?: number | string; name?: string }[];
  };
}

/** Addresses as they are inside the cluster. Nothing is opened, so there is nothing to close. */
export function directConnector(client: Client): Connector {
  return async (target, port, scope) => {
    const ref = refOf(target, scope);
    const host =
      "service" in target ? `${ref.name}.${ref.namespace}.svc` : await podAddress(client, ref, port, scope);
    return { host, port, [Symbol.asyncDispose]: async () => {} };
  };
}

/** A port on this machine that leads to the pod through the API server; a service is one of its ready pods. */
export function forwardConnector(client: Client): Connector {
  return async (target, port, scope) => {
    const ref = refOf(target, scope);
    const pod = "service" in target ? await podOfService(client, ref, port, scope) : { ref, port };
    const forwarded = await pods(client).forward(pod.ref, { port: pod.port });
    return {
      host: "127.0.0.1",
      port: forwarded.localPort,
      [Symbol.asyncDispose]: () => forwarded.close(),
    };
  };
}

function refOf(target: ConnectTarget, scope: ConnectScope): ObjectRef {
  const { namespace, name } = "service" in target ? target.service : target.pod;
  return { namespace: namespace ?? scope.namespace ?? "default", name };
}

async function podAddress(
  client: Client,
  ref: ObjectRef,
  port: number,
  { signal }: ConnectScope,
): Promise<string> {
  const pod = (await client.kind(Pod).find(ref, { signal })) as PodObject | undefined;
  const address = pod?.status?.podIP;
  if (address) return address;
  throw unreachable(port, `Pod ${keyOf(ref)}`, pod ? "it has no address yet" : "it does not exist");
}

async function podOfService(
  client: Client,
  ref: ObjectRef,
  port: number,
  { signal }: ConnectScope,
): Promise<{ ref: ObjectRef; port: number }> {
  const what = `Service ${keyOf(ref)}`;
  const service = (await client.kind(Service).find(ref, { signal })) as ServiceObject | undefined;
  if (!service) throw unreachable(port, what, "it does not exist");
  const { selector, ports } = service.spec ?? {};
  if (!selector) throw unreachable(port, what, "it selects no pods");
  const labels = formatLabelSelector(labelSelectorFromLabels(selector));
  const { items } = await client.kind(Pod).list({ namespace: ref.namespace as string, labels, signal });
  const ready = (items as unknown as PodObject[]).find(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      findCondition(status?.conditions, "Ready")?.status === "True",
  );
  if (!ready) throw unreachable(port, what, `none of its ${items.length} pods is ready`);
  const entry = ports?.find((each) => each.port === port);
  if (!entry)
    throw unreachable(port, what, `it has only the ports ${ports?.map((each) => each.port).join(", ")}`);
  return {
    ref: { namespace: ready.metadata.namespace, name: ready.metadata.name },
    port: containerPort(ready, entry.targetPort ?? port, what),
  };
}

function containerPort(pod: PodObject, target: number | string, what: string): number {
  if (typeof target === "number") return target;
  const named = pod.spec?.containers?.flatMap(({ ports = [] }) => ports).find(({ name }) => name === target);
  if (named) return named.containerPort;
  throw new RuntimeError(
    "Unreachable",
    `cannot connect to ${what}: pod ${pod.metadata.name} has no port "${target}"`,
  );
}

function unreachable(port: number, what: string, why: string): RuntimeError {
  return new RuntimeError("Unreachable", `cannot connect to port ${port} of ${what}: ${why}`);
}
