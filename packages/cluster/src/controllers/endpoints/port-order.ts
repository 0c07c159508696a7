/** The order in which a slice lists its ports: by a hash of each, as upstream does, so that no write is for order alone. */
import { createHash } from "node:crypto";
import type { discoveryV1 } from "@keelson/core/kinds";

type Port = discoveryV1.EndpointPort;

function printed({ name, protocol, port, appProtocol }: Port): string {
  const pointer = (type: string, value: string | number | undefined) =>
    value === undefined ? `(*${type})<nil>` : `(*${type})${value}`;
  return (
    `(v1.EndpointPort){Name:${pointer("string", name)} Protocol:${pointer("v1.Protocol", protocol)} ` +
    `Port:${pointer("int32", port)} AppProtocol:${pointer("string", appProtocol)}}`
  );
}

export function inOrder(ports: readonly Port[]): Port[] {
  const hash = (port: Port) => createHash("md5").update(printed(port)).digest("hex");
  return ports
    .map((port) => ({ port, hash: hash(port) }))
    .sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0))
    .map(({ port }) => port);
}
