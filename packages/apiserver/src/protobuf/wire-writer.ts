/**
 * Writes the protobuf wire format from the end to the front: the length of a message is known once it is written,
 * so nothing is copied or measured twice.
 */
import { wireTypes } from "./wire.ts";

export class WireWriter {
  private buffer = Buffer.allocUnsafe(1024);
  private start = 1024;

  /** Bytes written so far; what is written next stands before them. */
  get length(): number {
    return this.buffer.length - this.start;
  }

  /** A copy of the bytes. */
  finish(): Buffer {
    return Buffer.from(this.buffer.subarray(this.start));
  }

  tag(number: number, wireType: number): void {
    this.unsigned((number << 3) | wireType);
  }

  /** Closes a length-delimited field whose content was written since the writer had that length. */
  delimit(number: number, lengthBefore: number): void {
    this.unsigned(this.length - lengthBefore);
    this.tag(number, wireTypes.bytes);
  }

  bytes(value: Uint8Array): void {
    this.room(value.length);
    this.start -= value.length;
    this.buffer.set(value, this.start);
  }

  string(value: string): void {
    const size = Buffer.byteLength(value);
    this.room(size);
    this.start -= size;
    this.buffer.write(value, this.start);
  }

  double(value: number): void {
    this.room(8);
    this.start -= 8;
    this.buffer.writeDoubleLE(value, this.start);
  }

  /** A signed number as a varint: ten bytes when negative. */
  varint(value: number | bigint): void {
    if (typeof value === "number" && value >= 0 && value <= 0x7fffffff) {
      this.unsigned(value);
      return;
    }
    const groups: number[] = [];
    for (let rest = BigInt.asUintN(64, BigInt(value)); groups.length === 0 || rest > 0n; rest >>= 7n) {
      groups.push(Number(rest & 0x7fn));
    }
    this.groups(groups);
  }

  private unsigned(value: number): void {
    const groups: number[] = [];
    let rest = value;
    do {
      groups.push(rest & 0x7f);
      rest >>>= 7;
    } while (rest > 0);
    this.groups(groups);
  }

  private groups(groups: readonly number[]): void {
    this.room(groups.length);
    this.start -= groups.length;
    groups.forEach((group, at) => {
      this.buffer[this.start + at] = at < groups.length - 1 ? group | 0x80 : group;
    });
  }

  private room(count: number): void {
    if (this.start >= count) return;
    const written = this.length;
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, written + count));
    larger.set(this.buffer.subarray(this.start), larger.length - written);
    this.start = larger.length - written;
    this.buffer = larger;
  }
}
