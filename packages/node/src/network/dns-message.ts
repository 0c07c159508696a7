/** DNS messages (RFC 1035), as much as a cluster's name server needs. */

export const recordType = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  ANY: 255,
} as const;
export const responseCode = {
  ok: 0,
  malformed: 1,
  failed: 2,
  nameError: 3,
  notImplemented: 4,
  refused: 5,
} as const;

export type RecordData =
  | { readonly type: "A"; readonly address: string }
  | { readonly type: "CNAME" | "PTR"; readonly target: string }
  | {
      readonly type: "SRV";
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: string;
    }
  | { readonly type: "TXT"; readonly text: string }
  | { readonly type: "SOA"; readonly zone: string; readonly serial: number; readonly ttl: number };

export interface DnsRecord {
  readonly name: string;
  readonly ttl: number;
  readonly data: RecordData;
}

export interface DnsQuestion {
  readonly id: number;
  readonly recursionDesired: boolean;
  readonly opcode: number;
  /** As the client wrote it: some compare the case of the answer. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
  /** The largest answer the client takes over UDP. */
  readonly payloadSize: number;
  readonly hasOptions: boolean;
}

export interface DnsAnswer {
  readonly code: number;
  readonly answers: readonly DnsRecord[];
  readonly authority?: readonly DnsRecord[];
  readonly additional?: readonly DnsRecord[];
}

const plainPayload = 512;
const ourPayload = 4096;
const internet = 1;

/** Undefined when the bytes are no query with one question. */
export function parseQuestion(message: Buffer): DnsQuestion | undefined {
  if (message.length < 12) return undefined;
  const flags = message.readUInt16BE(2);
  const isResponse = (flags & 0x8000) !== 0;
  if (isResponse || message.readUInt16BE(4) !== 1) return undefined;
  const read = readName(message, 12);
  if (read === undefined || message.length < read.end + 4) return undefined;
  const options = findOptions(message, read.end + 4);
  return {
    id: message.readUInt16BE(0),
    recursionDesired: (flags & 0x0100) !== 0,
    opcode: (flags >> 11) & 0xf,
    name: read.name,
    type: message.readUInt16BE(read.end),
    class: message.readUInt16BE(read.end + 2),
    payloadSize: Math.max(plainPayload, options ?? plainPayload),
    hasOptions: options !== undefined,
  };
}

/** The answer in bytes; `limit` cuts it to whole records and says so. */
export function encodeAnswer(question: DnsQuestion, answer: DnsAnswer, limit: number): Buffer {
  const header = Buffer.alloc(12);
  const names = new Map<string, number>();
  const parts: Buffer[] = [header];
  let length = 12;
  const add = (bytes: Buffer) => {
    parts.push(bytes);
    length += bytes.length;
  };
  add(
    Buffer.concat([encodeName(question.name, length, names), uint16(question.type), uint16(question.class)]),
  );
  const options = question.hasOptions ? optionsRecord() : Buffer.alloc(0);
  let truncated = false;
  const counts = [answer.answers, answer.authority ?? [], answer.additional ?? []].map((section) => {
    let count = 0;
    for (const record of section) {
      const bytes = encodeRecord(record, length, names);
      if (length + bytes.length + options.length > limit) {
        truncated = true;
        break;
      }
      add(bytes);
      count++;
    }
    return count;
  });
  add(options);
  header.writeUInt16BE(question.id, 0);
  const recursion = question.recursionDesired ? 0x0100 : 0;
  const authoritative = 0x0400;
  header.writeUInt16BE(
    0x8000 |
      (question.opcode << 11) |
      authoritative |
      (truncated ? 0x0200 : 0) |
      recursion |
      0x0080 |
      answer.code,
    2,
  );
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(counts[0] ?? 0, 6);
  header.writeUInt16BE(counts[1] ?? 0, 8);
  header.writeUInt16BE((counts[2] ?? 0) + (question.hasOptions ? 1 : 0), 10);
  return Buffer.concat(parts);
}

function encodeRecord(record: DnsRecord, offset: number, names: Map<string, number>): Buffer {
  const name = encodeName(record.name, offset, names);
  const head = Buffer.concat([
    name,
    uint16(recordType[record.data.type]),
    uint16(internet),
    uint32(record.ttl),
  ]);
  const data = encodeData(record.data);
  return Buffer.concat([head, uint16(data.length), data]);
}

function encodeData(data: RecordData): Buffer {
  // Names inside data are written out: not every client expands pointers there.
  const whole = (name: string) => encodeName(name, 0, undefined);
  switch (data.type) {
    case "A":
      return Buffer.from(data.address.split(".").map(Number));
    case "CNAME":
    case "PTR":
      return whole(data.target);
    case "SRV":
      return Buffer.concat([
        uint16(data.priority),
        uint16(data.weight),
        uint16(data.port),
        whole(data.target),
      ]);
    case "TXT":
      return Buffer.concat([Buffer.from([data.text.length]), Buffer.from(data.text)]);
    case "SOA":
      return Buffer.concat([
        ...[whole(`ns.dns.${data.zone}`), whole(`hostmaster.${data.zone}`), uint32(data.serial)],
        ...[7200, 1800, 86400, data.ttl].map(uint32),
      ]);
  }
}

function encodeName(name: string, offset: number, known: Map<string, number> | undefined): Buffer {
  const labels = name.split(".").filter(Boolean);
  const parts: Buffer[] = [];
  let at = offset;
  for (let i = 0; i < labels.length; i++) {
    const rest = labels.slice(i).join(".").toLowerCase();
    const pointer = known?.get(rest);
    if (pointer !== undefined) return Buffer.concat([...parts, uint16(0xc000 | pointer)]);
    if (known !== undefined && at < 0x4000) known.set(rest, at);
    const label = Buffer.from(labels[i] ?? "", "latin1");
    parts.push(Buffer.from([label.length]), label);
    at += 1 + label.length;
  }
  return Buffer.concat([...parts, Buffer.from([0])]);
}

function readName(message: Buffer, start: number): { name: string; end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  for (;;) {
    const length = message[at];
    // A question stands first: there is nothing yet that it could point to.
    if (length === undefined || length > 63) return undefined;
    if (length === 0) return { name: labels.join("."), end: at + 1 };
    if (at + 1 + length > message.length || labels.length > 127) return undefined;
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
}

/** The payload size of an EDNS record, which clients put right behind the question. */
function findOptions(message: Buffer, at: number): number | undefined {
  if (message.readUInt16BE(10) === 0 || message.length < at + 11 || message[at] !== 0) return undefined;
  if (message.readUInt16BE(at + 1) !== recordType.OPT) return undefined;
  return Math.min(message.readUInt16BE(at + 3), ourPayload);
}

function optionsRecord(): Buffer {
  return Buffer.concat([Buffer.from([0]), uint16(recordType.OPT), uint16(ourPayload), uint32(0), uint16(0)]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}
