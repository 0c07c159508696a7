/** IP addresses and networks as Go's net/netip reads and prints them. */
import { goQuote } from "@keelson/core/internal";

export interface Address {
  readonly family: 4 | 6;
  /** The address as one number of 32 or 128 bits. */
  readonly bits: bigint;
  /** What follows a `%`; empty for none. */
  readonly zone: string;
}

export interface Network {
  readonly address: Address;
  readonly prefix: number;
}

function wrong(text: string, message: string, at = ""): string {
  return `ParseAddr(${goQuote(text)}): ${message}${at === "" ? "" : ` (at ${goQuote(at)})`}`;
}

/** The address, or a sentence about what is wrong with the text. */
export function parseAddress(text: string): Address | string {
  switch (/[.:%]/.exec(text)?.[0]) {
    case ".": {
      const bits = parseFour(text, text);
      return typeof bits === "string" ? bits : { family: 4, bits, zone: "" };
    }
    case ":":
      return parseSix(text);
    case "%":
      return wrong(text, "missing IPv6 address");
    default:
      return wrong(text, "unable to parse IP");
  }
}

/** Four decimal fields in `part`, which is the end of `text`. */
function parseFour(text: string, part: string): bigint | string {
  const fields: number[] = [];
  let value = 0;
  let digits = 0;
  for (let i = 0; i < part.length; i++) {
    const c = part[i] as string;
    if (c >= "0" && c <= "9") {
      if (digits === 1 && value === 0) return wrong(text, "IPv4 field has octet with leading zero");
      value = value * 10 + Number(c);
      digits++;
      if (value > 255) return wrong(text, "IPv4 field has value >255");
    } else if (c === ".") {
      if (digits === 0 || i === part.length - 1) {
        return wrong(text, "IPv4 field must have at least one digit", part.slice(i));
      }
      if (fields.length === 3) return wrong(text, "IPv4 address too long");
      fields.push(value);
      value = 0;
      digits = 0;
    } else return wrong(text, "unexpected character", part.slice(i));
  }
  if (fields.length < 3) return wrong(text, "IPv4 address too short");
  return [...fields, value].reduce((bits, field) => (bits << 8n) | BigInt(field), 0n);
}

function parseSix(text: string): Address | string {
  const percent = text.indexOf("%");
  const zone = percent < 0 ? "" : text.slice(percent + 1);
  if (percent >= 0 && zone === "") return wrong(text, "zone must be a non-empty string");
  let rest = percent < 0 ? text : text.slice(0, percent);
  const groups: number[] = [];
  let ellipsis = -1;
  if (rest.startsWith("::")) {
    ellipsis = 0;
    rest = rest.slice(2);
    if (rest === "") return { family: 6, bits: 0n, zone };
  }
  while (groups.length < 8) {
    const hex = /^[0-9a-fA-F]*/.exec(rest)?.[0] ?? "";
    if (hex.length > 4) return wrong(text, "each group must have 4 or less digits", rest);
    if (hex === "") return wrong(text, "each colon-separated field must have at least one digit", rest);
    if (rest[hex.length] === ".") {
      if (ellipsis < 0 && groups.length !== 6) {
        return wrong(text, "embedded IPv4 address must replace the final 2 fields of the address", rest);
      }
      if (groups.length > 6) {
        return wrong(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest);
      }
      const four = parseFour(text, rest);
      if (typeof four === "string") return four;
      groups.push(Number(four >> 16n), Number(four & 0xffffn));
      rest = "";
      break;
    }
    groups.push(Number.parseInt(hex, 16));
    rest = rest.slice(hex.length);
    if (rest === "") break;
    if (rest[0] !== ":") return wrong(text, "unexpected character, want colon", rest);
    if (rest.length === 1) return wrong(text, "colon must be followed by more characters", rest);
    rest = rest.slice(1);
    if (rest[0] === ":") {
      if (ellipsis >= 0) return wrong(text, "multiple :: in address", rest);
      ellipsis = groups.length;
      rest = rest.slice(1);
      if (rest === "") break;
    }
  }
  if (rest !== "") return wrong(text, "trailing garbage after address", rest);
  if (groups.length < 8) {
    if (ellipsis < 0) return wrong(text, "address string too short");
    groups.splice(ellipsis, 0, ...new Array<number>(8 - groups.length).fill(0));
  } else if (ellipsis >= 0) return wrong(text, "the :: must expand to at least one field of zeros");
  return { family: 6, bits: groups.reduce((bits, group) => (bits << 16n) | BigInt(group), 0n), zone };
}

/** IPv4 written inside IPv6. */
export function isMapped({ family, bits }: Address): boolean {
  return family === 6 && bits >> 32n === 0xffffn;
}

/** The one canonical text of an address. */
export function formatAddress({ family, bits, zone }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join(".");
  const groups = Array.from({ length: 8 }, (_, i) => Number((bits >> BigInt(112 - 16 * i)) & 0xffffn));
  const { start, length } = longestZeros(groups);
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(":");
  const shown =
    length < 2 ? text(groups) : `${text(groups.slice(0, start))}::${text(groups.slice(start + length))}`;
  return zone === "" ? shown : `${shown}%${zone}`;
}

function longestZeros(groups: readonly number[]): { start: number; length: number } {
  let best = { start: -1, length: 0 };
  for (let i = 0; i < groups.length; ) {
    let end = i;
    while (end < groups.length && groups[end] === 0) end++;
    if (end - i > best.length) best = { start: i, length: end - i };
    i = end === i ? i + 1 : end;
  }
  return best;
}

export function widthOf(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

/** The network, or a sentence about what is wrong with the text. */
export function parseNetwork(text: string): Network | string {
  const fail = (message: string) => `netip.ParsePrefix(${goQuote(text)}): ${message}`;
  const slash = text.lastIndexOf("/");
  if (slash < 0) return fail("no '/'");
  const address = parseAddress(text.slice(0, slash));
  if (typeof address === "string") return fail(address);
  if (address.zone !== "") return fail("IPv6 zones cannot be present in a prefix");
  const bits = text.slice(slash + 1);
  if (!/^(?:\d|[1-9]\d*)$/.test(bits)) return fail(`bad bits after slash: ${goQuote(bits)}`);
  const prefix = Number(bits);
  if (prefix > widthOf(address.family)) return fail("prefix length out of range");
  return { address, prefix };
}

/** An address with all bits after the prefix cleared. */
export function maskAddress(address: Address, prefix: number): Address {
  const shift = BigInt(widthOf(address.family) - prefix);
  return { ...address, bits: (address.bits >> shift) << shift };
}

export function networkContains(network: Network, address: Address): boolean {
  if (address.family !== network.address.family || address.zone !== "") return false;
  return maskAddress(address, network.prefix).bits === maskAddress(network.address, network.prefix).bits;
}
