/** Files that strangers made: read without following a link, waiting for a pipe, or taking in more than is wanted. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** The first bytes of an ordinary file; undefined when there is none. */
export async function readBounded(path: string, mostBytes: number): Promise<Buffer | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    if (!(await file.stat()).isFile()) return undefined;
    const bytes = Buffer.alloc(mostBytes);
    let length = 0;
    for (let read = -1; read !== 0 && length < mostBytes; length += read) {
      read = (await file.read(bytes, length, mostBytes - length, length)).bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await file.close();
  }
}
