/** Cluster addresses and node ports: which are taken, and which comes next. */
import type { Random } from "@keelson/core";
import type { Service } from "@keelson/core/kinds";
import { listOf } from "../../contracts/flags.ts";
import type { StoreReader } from "../../contracts/store.ts";
import {
  type Address,
  formatAddress,
  networkOf,
  parseAddress,
  parseRange,
  type Range,
  rangeContains,
} from "../checks/addresses.ts";

/** `--service-cluster-ip-range` unless it is given. */
export const defaultServiceRange = "10.0.0.0/24";

export type Family = "IPv4" | "IPv6";

const services = { group: "", resource: "services" };

/** Values in use, each with the service that has it. */
class Taken {
  readonly #owners = new Map<string, string>();

  isFree(value: string, service: string): boolean {
    const owner = this.#owners.get(value);
    return owner === undefined || owner === service;
  }
  take(value: string, service: string): void {
    this.#owners.set(value, service);
  }
  release(value: string, service: string): void {
    if (this.#owners.get(value) === service) this.#owners.delete(value);
  }
}

/** One address range: the lower part is left to those who choose their address. */
class AddressRange {
  readonly range: Range;
  readonly text: string;
  readonly #base: readonly number[];
  readonly #size: number;

  constructor(text: string) {
    const range = parseRange(text);
    if (!range) throw new Error(`--service-cluster-ip-range ${JSON.stringify(text)} is no address range`);
    this.range = range;
    this.text = text;
    this.#base = networkOf(range).bytes;
    const bits = (range.address.family === 4 ? 32 : 128) - range.prefix;
    this.#size = Math.min(2 ** bits, 2 ** 20);
  }

  get family(): Family {
    return this.range.address.family === 4 ? "IPv4" : "IPv6";
  }

  contains(address: Address): boolean {
    return rangeContains(this.range, address);
  }

  /** Usable addresses are all but the network's own and, for IPv4, the broadcast address. */
  isUsable(address: Address): boolean {
    const text = formatAddress(address);
    return text !== this.#at(0) && !(this.family === "IPv4" && text === this.#at(this.#size - 1));
  }

  get first(): string {
    return this.#at(1);
  }

  next(random: Random, isFree: (address: string) => boolean): string | undefined {
    const last = this.family === "IPv4" ? this.#size - 2 : this.#size - 1;
    const band = Math.min(Math.max(16, Math.floor(this.#size / 16)), 256);
    const lower = Math.min(band, last);
    return this.#search(lower, last, random, isFree) ?? this.#search(1, lower, random, isFree);
  }

  #search(
    from: number,
    to: number,
    random: Random,
    isFree: (address: string) => boolean,
  ): string | undefined {
    const count = to - from + 1;
    if (count <= 0) return undefined;
    const start = Math.floor(random.next() * count);
    for (let i = 0; i < count; i++) {
      const address = this.#at(from + ((start + i) % count));
      if (isFree(address)) return address;
    }
    return undefined;
  }

  #at(offset: number): string {
    const bytes = [...this.#base];
    for (let rest = offset, i = bytes.length - 1; rest > 0 && i >= 0; i--) {
      const sum = (bytes[i] ?? 0) + (rest & 0xff);
      bytes[i] = sum & 0xff;
      rest = (rest >>> 8) + (sum >>> 8);
    }
    return formatAddress({ ...this.range.address, bytes });
  }
}

/** The address of the service `kubernetes`: the first of the first range. */
export function firstServiceAddress(ranges: string): string {
  return new AddressRange(listOf(ranges)[0] ?? "").first;
}

export interface AddressOptions {
  readonly store: StoreReader;
  readonly random: Random;
  /** One range, or two of different families, separated by a comma. */
  readonly ranges: string;
  /** `30000-32767` */
  readonly nodePorts: string;
}

/** Follows the stored services; asks nothing of them until the first service needs an address. */
export class ServiceAddresses {
  readonly #store: StoreReader;
  readonly #random: Random;
  readonly #ranges: ReadonlyMap<Family, AddressRange>;
  readonly #ports: { readonly from: number; readonly to: number };
  readonly portRange: string;
  readonly #addresses = new Taken();
  readonly #nodePorts = new Taken();
  #loaded = false;

  constructor({ store, random, ranges, nodePorts }: AddressOptions) {
    this.#store = store;
    this.#random = random;
    const list = listOf(ranges).map((text) => new AddressRange(text));
    this.#ranges = new Map(list.map((range) => [range.family, range]));
    const [from = 30000, to = 32767] = nodePorts.split("-").map(Number);
    this.#ports = { from, to };
    this.portRange = `${from}-${to}`;
    store.subscribe(services, ({ object, previous }) => {
      if (!this.#loaded) return;
      if (previous) this.#release(previous as unknown as Service);
      if (object) this.#take(object as unknown as Service);
    });
  }

  get families(): Family[] {
    return [...this.#ranges.keys()];
  }

  get defaultFamily(): Family {
    return this.families[0] ?? "IPv4";
  }

  /** Undefined when all are taken. */
  nextAddress(family: Family, service: string): string | undefined {
    this.#load();
    return this.#ranges
      .get(family)
      ?.next(this.#random, (address) => this.#addresses.isFree(address, service));
  }

  /** Why an address that a service asks for cannot be had. */
  refusal(family: Family, text: string, service: string): string | undefined {
    this.#load();
    const address = parseAddress(text);
    const range = this.#ranges.get(family);
    if (!address || !range?.contains(address)) return `the provided network does not match the current range`;
    if (!range.isUsable(address))
      return `the provided IP (${text}) is not in the valid range. The range of valid IPs is ${range.text}`;
    return this.#addresses.isFree(formatAddress(address), service)
      ? undefined
      : "provided IP is already allocated";
  }

  isAddressFree(text: string, service: string): boolean {
    this.#load();
    return this.#addresses.isFree(text, service);
  }

  /** `also` are ports that the same request has taken. */
  nextPort(service: string, also: ReadonlySet<number>): number | undefined {
    this.#load();
    const { from, to } = this.#ports;
    const count = to - from + 1;
    const start = Math.floor(this.#random.next() * count);
    for (let i = 0; i < count; i++) {
      const port = from + ((start + i) % count);
      if (!also.has(port) && this.#nodePorts.isFree(String(port), service)) return port;
    }
    return undefined;
  }

  portRefusal(port: number, service: string): string | undefined {
    this.#load();
    if (port < this.#ports.from || port > this.#ports.to)
      return `provided port is not in the valid range. The range of valid ports is ${this.portRange}`;
    return this.#nodePorts.isFree(String(port), service) ? undefined : "provided port is already allocated";
  }

  #load(): void {
    if (this.#loaded) return;
    this.#loaded = true;
    for (const service of this.#store.list(services)) this.#take(service as unknown as Service);
  }

  #take(service: Service): void {
    const key = keyOfService(service);
    for (const address of addressesOf(service)) this.#addresses.take(address, key);
    for (const port of portsOf(service)) this.#nodePorts.take(String(port), key);
  }

  #release(service: Service): void {
    const key = keyOfService(service);
    for (const address of addressesOf(service)) this.#addresses.release(address, key);
    for (const port of portsOf(service)) this.#nodePorts.release(String(port), key);
  }
}

export function keyOfService({ metadata }: Service): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

function addressesOf({ spec }: Service): string[] {
  return (spec?.clusterIPs ?? []).filter((address) => address !== "None" && address !== "");
}

function portsOf({ spec }: Service): number[] {
  const ports = (spec?.ports ?? []).map(({ nodePort }) => nodePort ?? 0);
  return [...ports, spec?.healthCheckNodePort ?? 0].filter((port) => port !== 0);
}
