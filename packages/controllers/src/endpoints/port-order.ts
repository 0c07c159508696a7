/** The order in which endpoints list their ports: by a hash of each, as upstream does, so that no write is for order alone. */
import type { discoveryV1, EndpointPort } from "@keelson/core/kinds";

type SlicePort = discoveryV1.EndpointPort;

const pointer = (type: string, value: string | number | undefined) =>
  value === undefined ? `(*${type})<nil>` : `(*${type})${value}`;

function printedInSlice({ name, protocol, port, appProtocol }: SlicePort): string {
  return (
    `(v1.EndpointPort){Name:${pointer("string", name)} Protocol:${pointer("v1.Protocol", protocol)} ` +
    `Port:${pointer("int32", port)} AppProtocol:${pointer("string", appProtocol)}}`
  );
}

function printedInSubset({ name = "", port, protocol = "TCP", appProtocol }: EndpointPort): string {
  return (
    `(v1.EndpointPort){Name:(string)${name} Port:(int32)${port} Protocol:(v1.Protocol)${protocol} ` +
    `AppProtocol:${pointer("string", appProtocol)}}`
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

function ordered<P>(ports: readonly P[], printed: (port: P) => string): P[] {
  if (ports.length < 2) return [...ports];
  return ports
    .map((port) => ({ port, hash: fnv128(printed(port)) }))
    .sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0))
    .map(({ port }) => port);
}

export function inOrder(ports: readonly SlicePort[]): SlicePort[] {
  return ordered(ports, printedInSlice);
}

/** Of the older form. */
export function inSubsetOrder(ports: readonly EndpointPort[]): EndpointPort[] {
  return ordered(ports, printedInSubset);
}
