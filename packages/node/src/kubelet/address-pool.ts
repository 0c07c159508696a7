/** Pod addresses out of the node's range, the longest unused first. */
import { NodeError } from "../errors.ts";
import type { AddressPool } from "./services.ts";

/** The first usable address of a range (`10.244.3.0/24` → `10.244.3.1`), which is the node's own. */
export function firstAddress(cidr: string): string {
  return format(parseRange(cidr).base + 1);
}

/** Hands out everything behind the node's own address, in turn: an address rests as long as possible. */
export class RangePool implements AddressPool {
  readonly #cidr: string;
  readonly #base: number;
  readonly #size: number;
  readonly #taken = new Set<number>();
  #next = 2;

  constructor(cidr: string) {
    const { base, size } = parseRange(cidr);
    this.#cidr = cidr;
    this.#base = base;
    this.#size = size;
  }

  allocate(preferred?: string): string {
    const preferredOffset = preferred === undefined ? -1 : parse(preferred) - this.#base;
    if (preferredOffset >= 2 && preferredOffset <= this.#size - 2 && !this.#taken.has(preferredOffset)) {
      this.#taken.add(preferredOffset);
      return format(this.#base + preferredOffset);
    }
    for (let tried = 0; tried < this.#size - 3; tried++) {
      const offset = this.#next;
      this.#next = this.#next >= this.#size - 2 ? 2 : this.#next + 1;
      if (this.#taken.has(offset)) continue;
      this.#taken.add(offset);
      return format(this.#base + offset);
    }
    throw new NodeError("SandboxFailed", `no free address is left in ${this.#cidr}`);
  }

  release(address: string): void {
    this.#taken.delete(parse(address) - this.#base);
  }
}

function parseRange(cidr: string): { base: number; size: number } {
  const [address = "", bits = ""] = cidr.split("/");
  const length = Number(bits);
  const base = parse(address);
  if (!Number.isInteger(length) || length < 8 || length > 29 || Number.isNaN(base)) {
    throw new NodeError("BadConfiguration", `${JSON.stringify(cidr)} is no IPv4 range between /8 and /29`);
  }
  return { base, size: 2 ** (32 - length) };
}

function parse(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function format(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}
