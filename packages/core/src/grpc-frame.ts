/** How gRPC carries messages: a byte that says whether it is compressed, four for the length, and the message. */

const prefixBytes = 5;

/** An uncompressed message as it is sent. */
export function grpcFrame(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The messages in a stream of bytes, as they complete. Throws when the stream ends within one. */
export async function* grpcMessages(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, void> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    bytes += chunk.length;
    while (bytes >= prefixBytes) {
      const head = parts[0] as Uint8Array;
      const start = head.length >= prefixBytes ? bufferOf(head) : Buffer.concat(parts);
      const length = prefixBytes + start.readUInt32BE(1);
      if (bytes < length) break;
      const all = parts.length === 1 ? bufferOf(head) : Buffer.concat(parts);
      yield all.subarray(prefixBytes, length);
      const rest = all.subarray(length);
      parts = rest.length === 0 ? [] : [rest];
      bytes = rest.length;
    }
  }
  if (bytes > 0) throw new Error("the answer ended in the middle of a message");
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
