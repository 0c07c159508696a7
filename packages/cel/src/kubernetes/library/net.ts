/** IP addresses and networks: `ip("…")`, `cidr("…")` and what can be asked of them. */

import { goQuote } from "@keelson/core/internal";
import { sizeOf, stringTraversalFactor, traversal } from "../../check/cost.ts";
import { type CostModel, type FunctionDecl, type Library, member, overload } from "../../check/functions.ts";
import { noSuchOverload } from "../../values/compare.ts";
import { fixed, plus, scale } from "../../values/cost-range.ts";
import { type CelType, opaqueType, types } from "../../values/types.ts";
import { type CelValue, Fault, fault, Opaque } from "../../values/values.ts";
import { parseCost, unitCost } from "./costs.ts";
import {
  type Address,
  formatAddress,
  isMapped,
  maskAddress,
  type Network,
  networkContains,
  parseAddress,
  parseNetwork,
  widthOf,
} from "./ip-address.ts";

const { bool, int, string } = types;

const ipType: CelType = { ...opaqueType("net.IP"), equalityCost: () => fixed(1) };
const cidrType: CelType = { ...opaqueType("net.CIDR"), equalityCost: () => fixed(1) };

class IpValue extends Opaque {
  readonly type = ipType;
  readonly address: Address;

  constructor(address: Address) {
    super();
    this.address = address;
  }

  /** In bytes. */
  override get size(): number {
    return widthOf(this.address.family) / 8;
  }

  equals(other: CelValue): boolean | Fault {
    if (!(other instanceof IpValue)) return noSuchOverload;
    return this.address.family === other.address.family && this.address.bits === other.address.bits;
  }
}

class CidrValue extends Opaque {
  readonly type = cidrType;
  readonly network: Network;

  constructor(network: Network) {
    super();
    this.network = network;
  }

  /** The bytes that its prefix covers. */
  override get size(): number {
    return Math.ceil(this.network.prefix / 8);
  }

  equals(other: CelValue): boolean | Fault {
    if (!(other instanceof CidrValue)) return noSuchOverload;
    const [a, b] = [this.network, other.network];
    return (
      a.prefix === b.prefix && a.address.family === b.address.family && a.address.bits === b.address.bits
    );
  }
}

function readIp(text: string): IpValue | Fault {
  const address = parseAddress(text);
  if (typeof address === "string") {
    return fault(`IP Address ${goQuote(text)} parse error during conversion from string: ${address}`);
  }
  if (address.zone !== "") return fault(`IP address ${goQuote(text)} with zone value is not allowed`);
  if (isMapped(address)) return fault(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  return new IpValue(address);
}

function readCidr(text: string): CidrValue | Fault {
  const prefix = "network address parse error during conversion from string: ";
  const network = parseNetwork(text);
  if (typeof network === "string") return fault(prefix + prefix + network);
  if (isMapped(network.address)) {
    return fault(`${prefix}IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  }
  return new CidrValue(network);
}

type Args = readonly CelValue[];

function onText(run: (text: string) => CelValue) {
  return ([text]: Args): CelValue => (typeof text === "string" ? run(text) : noSuchOverload);
}

function onIp(run: (address: Address) => CelValue) {
  return ([value]: Args): CelValue => (value instanceof IpValue ? run(value.address) : noSuchOverload);
}

function onCidr(run: (network: Network) => CelValue) {
  return ([value]: Args): CelValue => (value instanceof CidrValue ? run(value.network) : noSuchOverload);
}

function top(bits: bigint, width: number, count: number): number {
  return Number(bits >> BigInt(width - count));
}

function isLoopback({ family, bits }: Address): boolean {
  return family === 4 ? top(bits, 32, 8) === 127 : bits === 1n;
}

function isMulticast({ family, bits }: Address): boolean {
  return family === 4 ? top(bits, 32, 4) === 0xe : top(bits, 128, 8) === 0xff;
}

function isLinkLocalMulticast({ family, bits }: Address): boolean {
  // In IPv6 the second nibble of ff0X says how far the group reaches.
  return family === 4 ? top(bits, 32, 24) === 0xe00000 : (top(bits, 128, 16) & 0xff0f) === 0xff02;
}

function isLinkLocalUnicast({ family, bits }: Address): boolean {
  return family === 4 ? top(bits, 32, 16) === 0xa9fe : top(bits, 128, 10) === 0x3fa;
}

function isGlobalUnicast(address: Address): boolean {
  const { family, bits } = address;
  if (bits === 0n || (family === 4 && bits === 0xffffffffn)) return false;
  return !isLoopback(address) && !isMulticast(address) && !isLinkLocalUnicast(address);
}

function containsIp([network, other]: Args): CelValue {
  // A text that is no address is not even reported as such: the API server loses the reason.
  const address = typeof other === "string" ? readIp(other) : other;
  if (!(network instanceof CidrValue) || !(address instanceof IpValue)) return noSuchOverload;
  return networkContains(network.network, address.address);
}

function containsCidr([network, other]: Args): CelValue {
  const inner = typeof other === "string" ? readCidr(other) : other;
  if (inner instanceof Fault) return inner;
  if (!(network instanceof CidrValue) || !(inner instanceof CidrValue)) return noSuchOverload;
  return (
    network.network.prefix <= inner.network.prefix && networkContains(network.network, inner.network.address)
  );
}

/** Addresses have 4 or 16 bytes. */
const addressBytes = { min: 4, max: 16 };
const twoAddresses = scale(plus(addressBytes, addressBytes), stringTraversalFactor);

function comparisonCost(stringOverload: string, masks: boolean): CostModel {
  const base = masks
    ? plus(plus(twoAddresses, scale(addressBytes, stringTraversalFactor)), fixed(1))
    : twoAddresses;
  return {
    before: ([network, other], id) => {
      const own = sizeOf(network as CelValue);
      const compared = Math.ceil(2 * own * stringTraversalFactor);
      const masked = masks ? Math.ceil(own * stringTraversalFactor) + 1 : 0;
      return compared + masked + (id === stringOverload ? traversal(other as CelValue) : 0);
    },
    estimate: ({ args, overload: id, size }) => {
      if (args[0] === undefined || id !== stringOverload) return base;
      return plus(base, scale(size(args[0]), stringTraversalFactor));
    },
  };
}

const twoPasses: CostModel = {
  before: (args) => traversal(args[0] as CelValue, 2),
  estimate: ({ args, size }) =>
    args[0] === undefined ? undefined : scale(size(args[0]), 2 * stringTraversalFactor),
};

function question(name: string, id: string, ask: (address: Address) => boolean): FunctionDecl {
  return { name, cost: unitCost, overloads: [member(id, [ipType], bool, onIp(ask))] };
}

const functions: readonly FunctionDecl[] = [
  {
    name: "ip",
    overloads: [
      overload("string_to_ip", [string], ipType, onText(readIp), parseCost),
      member(
        "cidr_ip",
        [cidrType],
        ipType,
        onCidr((network) => new IpValue(network.address)),
        unitCost,
      ),
    ],
  },
  {
    name: "isIP",
    cost: parseCost,
    overloads: [
      overload(
        "is_ip",
        [string],
        bool,
        onText((text) => readIp(text) instanceof IpValue),
      ),
    ],
  },
  {
    name: "ip.isCanonical",
    cost: twoPasses,
    overloads: [
      overload(
        "ip_is_canonical",
        [string],
        bool,
        onText((text) => {
          const address = readIp(text);
          return address instanceof Fault ? address : formatAddress(address.address) === text;
        }),
      ),
    ],
  },
  {
    name: "family",
    cost: unitCost,
    overloads: [
      member(
        "ip_family",
        [ipType],
        int,
        onIp((address) => address.family),
      ),
    ],
  },
  question("isUnspecified", "ip_is_unspecified", ({ bits }) => bits === 0n),
  question("isLoopback", "ip_is_loopback", isLoopback),
  question("isLinkLocalMulticast", "ip_is_link_local_multicast", isLinkLocalMulticast),
  question("isLinkLocalUnicast", "ip_is_link_local_unicast", isLinkLocalUnicast),
  question("isGlobalUnicast", "ip_is_global_unicast", isGlobalUnicast),
  {
    name: "string",
    overloads: [
      overload("ip_to_string", [ipType], string, onIp(formatAddress)),
      overload(
        "cidr_to_string",
        [cidrType],
        string,
        onCidr((network) => `${formatAddress(network.address)}/${network.prefix}`),
      ),
    ],
  },
  {
    name: "cidr",
    cost: parseCost,
    overloads: [overload("string_to_cidr", [string], cidrType, onText(readCidr))],
  },
  {
    name: "isCIDR",
    cost: parseCost,
    overloads: [
      overload(
        "is_cidr",
        [string],
        bool,
        onText((text) => readCidr(text) instanceof CidrValue),
      ),
    ],
  },
  {
    name: "containsIP",
    cost: comparisonCost("cidr_contains_ip_string", false),
    overloads: [
      member("cidr_contains_ip_string", [cidrType, string], bool, containsIp),
      member("cidr_contains_ip_ip", [cidrType, ipType], bool, containsIp),
    ],
  },
  {
    name: "containsCIDR",
    cost: comparisonCost("cidr_contains_cidr_string", true),
    overloads: [
      member("cidr_contains_cidr_string", [cidrType, string], bool, containsCidr),
      member("cidr_contains_cidr", [cidrType, cidrType], bool, containsCidr),
    ],
  },
  {
    name: "prefixLength",
    cost: unitCost,
    overloads: [
      member(
        "cidr_prefix_length",
        [cidrType],
        int,
        onCidr(({ prefix }) => prefix),
      ),
    ],
  },
  {
    name: "masked",
    cost: unitCost,
    overloads: [
      member(
        "cidr_masked",
        [cidrType],
        cidrType,
        onCidr(({ address, prefix }) => new CidrValue({ address: maskAddress(address, prefix), prefix })),
      ),
    ],
  },
];

export const netLibrary: Library = { name: "kubernetes.net", functions, types: [ipType, cidrType] };
