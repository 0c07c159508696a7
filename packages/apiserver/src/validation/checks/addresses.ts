/** IP addresses and ranges: what the server takes, and the canonical forms it recommends. */
import type { Errors } from "./errors.ts";

/** Sixteen bytes for IPv6, four for IPv4. */
export interface Address {
  readonly family: 4 | 6;
  readonly bytes: readonly number[];
  /** Written with leading zeros, which only lenient parsing takes. */
  readonly sloppy: boolean;
  /** IPv4 written as IPv6: `::ffff:1.2.3.4`. */
  readonly mapped: boolean;
}

export interface Range {
  readonly address: Address;
  readonly prefix: number;
  /** Leading zeros in address or prefix length. */
  readonly sloppy: boolean;
}

function parseV4(text: string): { bytes: number[]; sloppy: boolean } | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const bytes: number[] = [];
  let sloppy = false;
  for (const part of parts) {
    if (!/^\d+$/.test(part)) return undefined;
    const value = Number(part);
    if (value > 255) return undefined;
    if (part.length > 1 && part.startsWith("0")) sloppy = true;
    bytes.push(value);
  }
  return { bytes, sloppy };
}

export function parseAddress(text: string): Address | undefined {
  if (!text.includes(":")) {
    const v4 = parseV4(text);
    return v4 && { family: 4, mapped: false, ...v4 };
  }
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  let sloppy = false;
  const groups = (part: string): number[] | undefined => {
    if (part === "") return [];
    const out: number[] = [];
    const pieces = part.split(":");
    for (const [i, piece] of pieces.entries()) {
      if (piece.includes(".")) {
        if (i !== pieces.length - 1) return undefined;
        const v4 = parseV4(piece);
        if (!v4) return undefined;
        sloppy ||= v4.sloppy;
        out.push(...v4.bytes);
      } else {
        if (!/^[0-9a-fA-F]{1,4}$/.test(piece)) return undefined;
        const value = Number.parseInt(piece, 16);
        out.push(value >> 8, value & 255);
      }
    }
    return out;
  };
  const head = groups(halves[0] as string);
  const tail = halves.length === 2 ? groups(halves[1] as string) : [];
  if (!head || !tail) return undefined;
  const missing = 16 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 2) return undefined;
  const bytes = [...head, ...new Array<number>(missing).fill(0), ...tail];
  const mapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  // Go treats an IPv4-mapped address as IPv4 wherever it asks for the family.
  return { family: mapped ? 4 : 6, bytes: mapped ? bytes.slice(12) : bytes, sloppy, mapped };
}

export function formatAddress({ family, bytes }: Address): string {
  if (family === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0));
  let best = { at: -1, length: 0 };
  for (let i = 0; i < 8; i++) {
    let length = 0;
    while (i + length < 8 && groups[i + length] === 0) length++;
    if (length > best.length) best = { at: i, length };
    if (length > 0) i += length;
  }
  const hex = (list: number[]) => list.map((group) => group.toString(16)).join(":");
  if (best.length < 2) return hex(groups);
  return `${hex(groups.slice(0, best.at))}::${hex(groups.slice(best.at + best.length))}`;
}

export function parseRange(text: string): Range | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = parseAddress(text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (!address || !/^\d+$/.test(length)) return undefined;
  const wide = address.mapped || address.family === 6;
  const prefix = Number(length);
  if (prefix > (wide ? 128 : 32)) return undefined;
  return { address, prefix, sloppy: address.sloppy || (length.length > 1 && length.startsWith("0")) };
}

/** The address with all bits beyond the prefix cleared. */
export function networkOf({ address, prefix }: Range): Address {
  const effective = address.mapped ? Math.max(prefix - 96, 0) : prefix;
  const bytes = address.bytes.map((byte, i) => {
    const bits = Math.min(Math.max(effective - 8 * i, 0), 8);
    return byte & (0xff << (8 - bits)) & 0xff;
  });
  return { ...address, bytes, sloppy: false };
}

export function formatRange(range: Range): string {
  const length = range.address.mapped ? Math.max(range.prefix - 96, 0) : range.prefix;
  return `${formatAddress(networkOf(range))}/${length}`;
}

export function rangeContains(range: Range, address: Address): boolean {
  if (range.address.family !== address.family) return false;
  const masked = networkOf({ ...range, address });
  return networkOf(range).bytes.every((byte, i) => byte === masked.bytes[i]);
}

/** Neither the machine's own, nor of one link, nor of many: the only addresses that the server passes requests on to. */
export function isGlobalUnicast({ family, bytes }: Address): boolean {
  const [first = 0, second = 0] = bytes;
  if (bytes.every((byte) => byte === 0)) return false;
  if (family === 6) {
    const loopback = bytes.every((byte, i) => byte === (i === 15 ? 1 : 0));
    return !loopback && first !== 0xff && !(first === 0xfe && (second & 0xc0) === 0x80);
  }
  const linkLocal = first === 169 && second === 254;
  return first !== 127 && !linkLocal && (first & 0xf0) !== 224 && !bytes.every((byte) => byte === 255);
}

const wrongAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const wrongRange = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/** Values that were accepted before stay accepted. */
export function checkAddress(path: string, value: string, errors: Errors, old: readonly string[] = []): void {
  if (old.includes(value)) return;
  const address = parseAddress(value);
  if (!address) {
    errors.invalid(path, value, wrongAddress);
    return;
  }
  if (address.sloppy) errors.invalid(path, value, "must not have leading 0s");
  if (address.mapped) errors.invalid(path, value, "must not be an IPv4-mapped IPv6 address");
}

/** As {@link checkAddress}, and the text must be the canonical one. */
export function checkCanonicalAddress(path: string, value: string, errors: Errors): void {
  const before = errors.list.length;
  checkAddress(path, value, errors);
  if (errors.list.length > before) return;
  const canonical = formatAddress(parseAddress(value) as Address);
  if (value !== canonical)
    errors.invalid(path, value, `must be in canonical form (${JSON.stringify(canonical)})`);
}

export function checkRange(path: string, value: string, errors: Errors, old: readonly string[] = []): void {
  if (old.includes(value)) return;
  const range = parseRange(value);
  if (!range) errors.invalid(path, value, wrongRange);
  else if (range.sloppy) errors.invalid(path, value, "must not have leading 0s in IP or prefix length");
  else if (range.address.mapped) errors.invalid(path, value, "must not have an IPv4-mapped IPv6 address");
  else if (formatAddress(range.address) !== formatAddress(networkOf(range)))
    errors.invalid(path, value, "must not have bits set beyond the prefix length");
}

export function checkCanonicalRange(path: string, value: string, errors: Errors): void {
  const before = errors.list.length;
  checkRange(path, value, errors);
  if (errors.list.length > before) return;
  const canonical = formatRange(parseRange(value) as Range);
  if (value !== canonical)
    errors.invalid(path, value, `must be in canonical form (${JSON.stringify(canonical)})`);
}

/** What the client is told about an address that is accepted and could be written better. */
export function addressWarnings(path: string, value: string): string[] {
  const address = parseAddress(value);
  if (!address) return [];
  const canonical = formatAddress(address);
  if (address.sloppy || address.mapped)
    return [
      `${path}: non-standard IP address ${JSON.stringify(value)} is invalid: use ${JSON.stringify(canonical)}`,
    ];
  if (address.family === 6 && canonical !== value)
    return [
      `${path}: IPv6 address ${JSON.stringify(value)} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`,
    ];
  return [];
}

export function rangeWarnings(path: string, value: string): string[] {
  const range = parseRange(value);
  if (!range) return [];
  const canonical = formatRange(range);
  const warnings: string[] = [];
  const own = formatAddress(range.address);
  if (own !== formatAddress(networkOf(range)))
    warnings.push(
      `${path}: CIDR value ${JSON.stringify(value)} is ambiguous in this context (should be ${JSON.stringify(canonical)} or ${JSON.stringify(`${own}/${range.address.family === 4 ? 32 : 128}`)}?)`,
    );
  if (range.sloppy || range.address.mapped)
    warnings.push(
      `${path}: non-standard CIDR value ${JSON.stringify(value)} is invalid: use ${JSON.stringify(canonical)}`,
    );
  if (warnings.length === 0 && range.address.family === 6 && canonical !== value)
    warnings.push(
      `${path}: IPv6 CIDR value ${JSON.stringify(value)} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`,
    );
  return warnings;
}
