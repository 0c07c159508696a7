/** Reads the protobuf wire format: varints, fixed words and length-delimited ranges, never past its end. */
import { ProtobufError } from "./errors.ts";

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

const maxGroupDepth = 32;
const utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

export class WireReader {
  readonly bytes: Uint8Array;
  private readonly view: DataView;
  at: number;
  end: number;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = at;
    this.end = end;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  /** A varint below 2^32 in size where it matters: tags and lengths. */
  uint32(): number {
    const value = this.varint();
    if (value < 0n || value > 0xffffffffn) throw malformed("a length or tag is out of range");
    return Number(value);
  }

  /** A varint as the 64-bit two's complement number it stands for. */
  varint(): bigint {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw malformed("a varint is longer than ten bytes");
  }

  int32(): number {
    return Number(BigInt.asIntN(32, this.varint()));
  }

  /** A number where that is exact. */
  int64(): number | bigint {
    const value = this.varint();
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }

  double(): number {
    this.need(8);
    const value = this.view.getFloat64(this.at, true);
    this.at += 8;
    return value;
  }

  /** Steps over a length and what it covers; answers where that begins. */
  delimited(): number {
    const length = this.uint32();
    this.need(length);
    const start = this.at;
    this.at += length;
    return start;
  }

  /** A view on the bytes of a delimited field, not a copy. */
  range(): Uint8Array {
    const start = this.delimited();
    return this.bytes.subarray(start, this.at);
  }

  string(): string {
    return utf8.decode(this.range());
  }

  skip(wireType: number): void {
    let depth = 0;
    for (let type = wireType; ; ) {
      if (type === wireTypes.varint) this.varint();
      else if (type === wireTypes.fixed64) this.forward(8);
      else if (type === wireTypes.bytes) this.delimited();
      else if (type === wireTypes.fixed32) this.forward(4);
      else if (type === wireTypes.startGroup) depth++;
      else if (type === wireTypes.endGroup && depth > 0) depth--;
      else throw malformed(`wire type ${type} is not allowed here`);
      if (depth === 0) return;
      if (depth > maxGroupDepth) throw new ProtobufError("TooLarge", "protobuf groups are nested too deeply");
      type = this.uint32() & 7;
    }
  }

  private byte(): number {
    if (this.at >= this.end) throw malformed("the message ends in the middle of a field");
    return this.bytes[this.at++] as number;
  }

  private forward(count: number): void {
    this.need(count);
    this.at += count;
  }

  private need(count: number): void {
    if (count > this.end - this.at) throw malformed("the message ends in the middle of a field");
  }
}

export function malformed(why: string): ProtobufError {
  return new ProtobufError("Malformed", `cannot decode protobuf: ${why}`);
}
