/** Undoes the compressions that layers and archives come in, by what their first bytes say. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { ImageError } from "./errors.ts";

const magicBytes = 4;

/** Reads no more of the source than it needs. */
export async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  let first = Buffer.alloc(0);
  while (first.length < magicBytes) {
    const { value, done } = await chunks.next();
    if (done) break;
    first = Buffer.concat([first, value]);
  }
  const whole = async function* () {
    if (first.length > 0) yield first;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
  };
  const through = decompressorFor(first);
  if (through === undefined) {
    yield* whole();
    return;
  }
  const flow = pipeline(Readable.from(whole(), { objectMode: false }), through);
  // The reader of the result gets the error there.
  flow.catch(() => undefined);
  try {
    for await (const chunk of through) yield chunk as Uint8Array;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw error instanceof ImageError
      ? error
      : new ImageError("BadArchive", `it cannot be unpacked: ${reason}`);
  } finally {
    through.destroy();
  }
}

function decompressorFor(first: Buffer) {
  if (first.length < magicBytes) return undefined;
  if (first[0] === 0x1f && first[1] === 0x8b) return createGunzip();
  return first.readUInt32LE(0) === 0xfd2fb528 ? createZstdDecompress() : undefined;
}
