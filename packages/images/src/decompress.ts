/** Undoes the compressions that layers and archives come in, by what their first bytes say. */
import type { Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";

export async function decompressed(source: Readable): Promise<AsyncIterable<Uint8Array>> {
  const first = await peek(source);
  if (first[0] === 0x1f && first[1] === 0x8b) return joined(source, createGunzip());
  if (first.readUInt32LE(0) === 0xfd2fb528) return joined(source, createZstdDecompress());
  return source;
}

/** Errors of the source must end the result too. */
function joined<
  T extends NodeJS.ReadWriteStream & AsyncIterable<Uint8Array> & { destroy(error: Error): unknown },
>(source: Readable, through: T): T {
  source.on("error", (error) => through.destroy(error));
  return source.pipe(through);
}

async function peek(source: Readable): Promise<Buffer> {
  await new Promise<void>((resolve, reject) => {
    source.once("readable", resolve).once("end", resolve).once("error", reject);
  });
  const chunk = source.read() as Buffer | null;
  if (chunk === null) return Buffer.alloc(4);
  source.unshift(chunk);
  return chunk.length >= 4 ? chunk : Buffer.concat([chunk, Buffer.alloc(4)]);
}
