/** A container's log file: one line per line of output, with its time and stream, as runtimes write it. */
import {
  closeSync,
  existsSync,
  fstatSync,
  open,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Clock } from "@keelson/core";

export interface LogLimits {
  readonly maxBytes: number;
  /** Files kept, the current one included. */
  readonly maxFiles: number;
}

export const defaultLogLimits: LogLimits = { maxBytes: 10 * 1024 * 1024, maxFiles: 5 };

const openFile = promisify(open);

/** Longer lines are cut into parts of this size. */
const maxLineBytes = 16 * 1024;
const newline = 0x0a;

export class ContainerLog {
  readonly path: string;
  readonly #clock: Clock;
  readonly #limits: LogLimits;
  readonly #listeners = new Set<() => void>();
  readonly #partial = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  #fd: number | undefined;
  #size = 0;
  #rotations = 0;
  #closed = false;

  /** Makes the log's file and directory, off the event loop: a node starts many containers at once. */
  static async open(path: string, clock: Clock, limits = defaultLogLimits): Promise<ContainerLog> {
    await mkdir(dirname(path), { recursive: true });
    return new ContainerLog(path, await openFile(path, "a"), clock, limits);
  }

  private constructor(path: string, fd: number, clock: Clock, limits: LogLimits) {
    this.path = path;
    this.#clock = clock;
    this.#limits = limits;
    this.#fd = fd;
    this.#size = fstatSync(fd).size;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Grows when the file at `path` is another one than before. */
  get rotations(): number {
    return this.#rotations;
  }

  write(stream: "stdout" | "stderr", chunk: Buffer): void {
    if (this.#fd === undefined) return;
    const parts: Buffer[] = [];
    const stamp = formatNanoTime(this.#clock.now());
    const [whole, cut] = [head(stamp, stream, "F"), head(stamp, stream, "P")];
    let rest = this.#partial[stream].length > 0 ? Buffer.concat([this.#partial[stream], chunk]) : chunk;
    for (;;) {
      const end = rest.indexOf(newline);
      if (end >= 0 && end <= maxLineBytes) {
        parts.push(whole, rest.subarray(0, end + 1));
        rest = rest.subarray(end + 1);
      } else if (rest.length >= maxLineBytes) {
        parts.push(cut, rest.subarray(0, maxLineBytes), lineEnd);
        rest = rest.subarray(maxLineBytes);
      } else break;
    }
    this.#partial[stream] = Buffer.from(rest);
    if (parts.length > 0) this.#append(Buffer.concat(parts));
  }

  /** Writes what was left without a line's end, and tells readers that nothing more will come. */
  close(): void {
    if (this.#fd === undefined) return;
    const stamp = formatNanoTime(this.#clock.now());
    for (const stream of ["stdout", "stderr"] as const) {
      const rest = this.#partial[stream];
      if (rest.length > 0) this.#append(Buffer.concat([head(stamp, stream, "P"), rest, lineEnd]));
    }
    closeSync(this.#fd);
    this.#fd = undefined;
    this.#closed = true;
    this.#notify();
  }

  /** Calls `listener` after every change, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #append(bytes: Buffer): void {
    if (this.#fd === undefined) return;
    if (this.#size > 0 && this.#size + bytes.length > this.#limits.maxBytes) this.#rotate();
    writeSync(this.#fd, bytes);
    this.#size += bytes.length;
    this.#notify();
  }

  #rotate(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    const stamp = formatNanoTime(this.#clock.now()).replaceAll(/[-:T]/g, "").slice(0, 14);
    let old = `${this.path}.${stamp}`;
    for (let i = 1; existsSync(old); i++) old = `${this.path}.${stamp}-${i}`;
    renameSync(this.path, old);
    this.#rotations++;
    const prefix = `${basename(this.path)}.`;
    const rotated = readdirSync(dirname(this.path))
      .filter((name) => name.startsWith(prefix))
      .sort();
    for (const name of rotated.slice(0, Math.max(0, rotated.length - this.#limits.maxFiles + 1))) {
      rmSync(join(dirname(this.path), name));
    }
    this.#fd = openSync(this.path, "a");
    this.#size = 0;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** RFC 3339 with nine digits of fraction, always. */
export function formatNanoTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 23)}000000Z`;
}

const lineEnd = Buffer.from("\n");

function head(stamp: string, stream: string, tag: "F" | "P"): Buffer {
  return Buffer.from(`${stamp} ${stream} ${tag} `);
}
