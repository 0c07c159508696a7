/** How data goes bad. */
import { open } from "node:fs/promises";
import { join } from "node:path";

/** Overwrites the database, all but its first pages. The write-ahead log would not do: etcd cuts it off and goes on. */
export async function corrupt(volume: string): Promise<void> {
  const file = await open(join(volume, "data", "member", "snap", "db"), "r+");
  const { size } = await file.stat();
  const pages = 8_192;
  const chunk = Buffer.alloc(1 << 20, 0xa5);
  for (let at = pages; at < size; at += chunk.length) {
    await file.write(chunk, 0, Math.min(chunk.length, size - at), at);
  }
  await file.close();
}
