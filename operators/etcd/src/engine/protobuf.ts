/** As much of protobuf as two calls need: varints out, and the fields of a message in. */

/** Numbers and bytes by field number; the last one wins, as protobuf says. */
export interface Fields {
  readonly numbers: ReadonlyMap<number, bigint>;
  readonly bytes: ReadonlyMap<number, Buffer>;
}

export function encodeNumber(field: number, value: bigint): Buffer {
  return Buffer.concat([varint(BigInt(field << 3)), varint(value)]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}

export function fieldsOf(message: Buffer): Fields {
  const numbers = new Map<number, bigint>();
  const bytes = new Map<number, Buffer>();
  let at = 0;
  const read = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) throw new RangeError("a message ends in the middle of a field");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > message.length) throw new RangeError("a message ends in the middle of a field");
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(read());
    const field = tag >> 3;
    switch (tag & 7) {
      case 0:
        numbers.set(field, read());
        break;
      case 1:
        take(8);
        break;
      case 2:
        bytes.set(field, take(Number(read())));
        break;
      case 5:
        take(4);
        break;
      default:
        throw new RangeError(`field ${field} has the unknown wire type ${tag & 7}`);
    }
  }
  return { numbers, bytes };
}
