/**
 * Records in a file: length, checksum, content. A record that was not written whole is noticed, whichever of its
 * pages a power loss took: what is written at once is one record, and the next is written only when it is on disk.
 */
import { crc32 } from "node:zlib";

const headerBytes = 8;
/** Above any object the server takes; a length beyond it is damage. */
const maxRecordBytes = 64 * 1024 * 1024;

/** The record around a content that comes in pieces. */
export function encodeRecord(...content: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const piece of content) length += piece.length;
  const record = Buffer.allocUnsafe(headerBytes + length);
  let at = headerBytes;
  for (const piece of content) {
    record.set(piece, at);
    at += piece.length;
  }
  record.writeUInt32LE(length, 0);
  record.writeUInt32LE(crc32(record.subarray(headerBytes)), 4);
  return record;
}

export interface ReadRecords {
  readonly contents: Buffer[];
  /** Where the next record belongs: behind the last whole one. */
  readonly end: number;
  /** Whether whole records follow a damaged one: more is wrong than a write that was cut short. */
  readonly damaged: boolean;
}

/** Zeroes end a file: room that was reserved and not used. */
export function readRecords(file: Buffer): ReadRecords {
  const contents: Buffer[] = [];
  let at = 0;
  for (;;) {
    const content = recordAt(file, at);
    if (!content) break;
    contents.push(content);
    at += headerBytes + content.length;
  }
  return { contents, end: at, damaged: isFollowed(file, at) };
}

function recordAt(file: Buffer, at: number): Buffer | undefined {
  if (at + headerBytes > file.length) return undefined;
  const length = file.readUInt32LE(at);
  if (length === 0 || length > maxRecordBytes || at + headerBytes + length > file.length) return undefined;
  const content = file.subarray(at + headerBytes, at + headerBytes + length);
  return crc32(content) === file.readUInt32LE(at + 4) ? content : undefined;
}

/** Looks for a whole record behind the damage, by the brace that every content begins with. */
function isFollowed(file: Buffer, at: number): boolean {
  let brace = file.indexOf('{"', at + headerBytes + 1);
  while (brace >= 0) {
    if (brace - headerBytes > at && recordAt(file, brace - headerBytes)) return true;
    brace = file.indexOf('{"', brace + 1);
  }
  return false;
}
