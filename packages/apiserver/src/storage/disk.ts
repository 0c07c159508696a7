/** The few operations on files that durability rests on; tests put their own in place of them. */
import {
  close,
  closeSync,
  constants,
  fdatasync,
  fsyncSync,
  ftruncateSync,
  open,
  openSync,
  write,
} from "node:fs";
import { StorageError } from "./errors.ts";

export interface Disk {
  /** Opens a log for writing; a new one must not exist yet. */
  open(path: string, isNew: boolean): number;
  /** Resolves when the bytes, and the file's length where they change it, are on the disk. */
  write(file: number, bytes: Uint8Array, position: number): Promise<void>;
  /** Fills room ahead with zeroes, so that later writes there change neither length nor layout of the file. */
  reserve(path: string, position: number, length: number): Promise<void>;
  truncate(file: number, length: number): void;
  /** Makes names in a directory durable. */
  syncDirectory(directory: string): void;
}

/** On Linux a write is durable when it returns; elsewhere it is flushed afterwards. */
const writesThrough = process.platform === "linux" && typeof constants.O_DSYNC === "number";

export const realDisk: Disk = {
  open(path, isNew) {
    const create = isNew ? constants.O_CREAT | constants.O_EXCL : 0;
    return openSync(path, constants.O_RDWR | create | (writesThrough ? constants.O_DSYNC : 0), 0o600);
  },
  async write(file, bytes, position) {
    await writeAll(file, bytes, position);
    if (!writesThrough) await flush(file);
  },
  async reserve(path, position, length) {
    const file = await new Promise<number>((resolve, reject) =>
      open(path, "r+", (error, opened) => (error ? reject(error) : resolve(opened))),
    );
    try {
      await writeAll(file, Buffer.alloc(length), position);
      await flush(file);
    } finally {
      await new Promise<void>((resolve) => close(file, () => resolve()));
    }
  },
  truncate(file, length) {
    ftruncateSync(file, length);
    fsyncSync(file);
  },
  syncDirectory,
};

/** A disk that is full may take a part; asked for the rest it says why. */
async function writeAll(file: number, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const written = await new Promise<number>((resolve, reject) =>
      write(file, bytes, done, bytes.length - done, position + done, (error, count) =>
        error ? reject(error) : resolve(count),
      ),
    );
    if (written === 0) throw new StorageError("Failed", "the disk took only a part of a record");
    done += written;
  }
}

export function flush(file: number): Promise<void> {
  return new Promise((resolve, reject) => fdatasync(file, (error) => (error ? reject(error) : resolve())));
}

export function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
