/** Whether an extension can be asked: its service, its endpoints, and an answer of its own. */
import type { EndpointSlice, Service } from "@keelson/core/kinds";
import type { StoreReader } from "../contracts/store.ts";
import type { Extension } from "./extension.ts";

export interface Availability {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

const no = (reason: string, message: string): Availability => ({ status: "False", reason, message });

export const passed: Availability = { status: "True", reason: "Passed", message: "all checks passed" };

export function discoveryFailed({ name }: Extension, why: string): Availability {
  return no("FailedDiscoveryCheck", `failing or missing response from ${name}: ${why}`);
}

/** What can be told without asking it; `undefined` when it has to be asked. */
export function unavailable({ service: at }: Extension, store: StoreReader): Availability | undefined {
  const where = `service/${at.name} in ${JSON.stringify(at.namespace)}`;
  const service = store.get({ group: "", resource: "services" }, at.namespace, at.name) as unknown as
    | Service
    | undefined;
  if (!service) return no("ServiceNotFound", `${where} is not present`);
  if ((service.spec?.type ?? "ClusterIP") !== "ClusterIP") return undefined;
  const port = service.spec?.ports?.find((each) => each.port === at.port);
  if (!port) return no("ServicePortError", `${where} is not listening on port ${at.port}`);
  const slices = (
    store.list(
      { group: "discovery.k8s.io", resource: "endpointslices" },
      at.namespace,
    ) as unknown as EndpointSlice[]
  ).filter(({ metadata }) => metadata?.labels?.["kubernetes.io/service-name"] === at.name);
  if (slices.length === 0) return no("EndpointsNotFound", `cannot find endpointslices for ${where}`);
  const portName = port.name ?? "";
  const isReady = slices.some(
    ({ ports, endpoints }) =>
      ports?.some(({ name = "" }) => name === portName) &&
      endpoints?.some(({ conditions, addresses }) => conditions?.ready !== false && addresses.length > 0),
  );
  if (isReady) return undefined;
  return no(
    "MissingEndpoints",
    `endpointslices for ${where} have no addresses with port name ${JSON.stringify(portName)}`,
  );
}
