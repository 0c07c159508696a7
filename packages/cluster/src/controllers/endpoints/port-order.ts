/** The order in which a slice lists its ports: by a hash of each, as upstream does, so that no write is for order alone. */
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

const offset = 0x6c62272e07bb014262b821756295c58dn;
const prime = 0x0000000001000000000000000000013bn;

/** FNV-1a in 128 bits. */
function fnv128(text: string): bigint {
  let hash = offset;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(128, (hash ^ BigInt(byte)) * prime);
  return hash;
}

export function inOrder(ports: readonly Port[]): Port[] {
  if (ports.length < 2) return [...ports];
  return ports
    .map((port) => ({ port, hash: fnv128(printed(port)) }))
    .sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0))
    .map(({ port }) => port);
}
