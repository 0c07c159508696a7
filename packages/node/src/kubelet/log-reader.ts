/** Reads a container's log as `kubectl logs` asks for it. */
import { type FileHandle, open } from "node:fs/promises";
import { parseTime } from "@keelson/core";
import type { ContainerLog } from "./container-log.ts";

export interface LogQuery {
  readonly follow?: boolean;
  readonly tailLines?: number;
  /** Milliseconds since the epoch: nothing older. */
  readonly since?: number;
  readonly timestamps?: boolean;
  readonly limitBytes?: number;
  readonly stream?: "stdout" | "stderr";
  readonly signal?: AbortSignal;
}

export interface LogSource {
  readonly path: string;
  /** Present while the log may still grow. */
  readonly live?: ContainerLog;
}

const chunkBytes = 64 * 1024;
const newline = 0x0a;

/** Yields the log's bytes. Ends where the file ended when it was asked, or with `follow` when the container does. */
export async function* readLog(source: LogSource, query: LogQuery): AsyncGenerator<Buffer> {
  let budget = query.limitBytes ?? Number.POSITIVE_INFINITY;
  for await (const lines of rawLines(source, query)) {
    const shown = Buffer.concat(lines.flatMap((raw) => render(raw, query)));
    if (shown.length === 0) continue;
    if (shown.length >= budget) {
      yield shown.subarray(0, budget);
      return;
    }
    budget -= shown.length;
    yield shown;
  }
}

/** Many at a time: a log has more lines than a connection should have messages. */
async function* rawLines(source: LogSource, query: LogQuery): AsyncGenerator<Buffer[]> {
  if (query.tailLines === 0 && !query.follow) return;
  let rotations = source.live?.rotations ?? 0;
  let file = await openLog(source);
  try {
    // A log may grow faster than it is read: who does not follow it gets what there is now.
    const { size } = await file.stat();
    const end = query.follow ? Number.POSITIVE_INFINITY : size;
    let position = query.tailLines === undefined ? 0 : await tailOffset(file, query.tailLines, size);
    let rest = Buffer.alloc(0);
    for (;;) {
      // Looked at before reading: what is written after the read wakes us again.
      const ended = source.live?.closed ?? true;
      const changed = changeOf(source, query);
      const wanted = Math.min(chunkBytes, end - position);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(chunkBytes), 0, wanted, position);
      position += bytesRead;
      rest = bytesRead > 0 ? Buffer.concat([rest, buffer.subarray(0, bytesRead)]) : rest;
      const lines: Buffer[] = [];
      for (let at = rest.indexOf(newline); at >= 0; at = rest.indexOf(newline)) {
        lines.push(rest.subarray(0, at));
        rest = rest.subarray(at + 1);
      }
      if (lines.length > 0) yield lines;
      if (bytesRead > 0) {
        changed.cancel();
        continue;
      }
      if (query.follow && source.live !== undefined && source.live.rotations !== rotations) {
        rotations = source.live.rotations;
        changed.cancel();
        await file.close();
        file = await openLog(source);
        position = 0;
        continue;
      }
      if (!query.follow || ended || query.signal?.aborted) return changed.cancel();
      await changed.promise;
    }
  } finally {
    await file.close();
  }
}

/** While a file is put aside there is a moment without one. */
async function openLog({ path, live }: LogSource): Promise<FileHandle> {
  for (let tries = 0; ; tries++) {
    try {
      return await open(path, "r");
    } catch (error) {
      if (live === undefined || tries === 10) throw error;
    }
  }
}

function changeOf(
  { live }: LogSource,
  { follow, signal }: LogQuery,
): { promise: Promise<void>; cancel: () => void } {
  if (live === undefined || !follow) return { promise: Promise.resolve(), cancel: () => undefined };
  const { promise, resolve } = Promise.withResolvers<void>();
  const off = live.onChange(resolve);
  signal?.addEventListener("abort", () => resolve(), { once: true });
  return { promise: promise.finally(off), cancel: () => resolve() };
}

/** Where the last `lines` lines of the first `size` bytes begin. */
async function tailOffset(file: FileHandle, lines: number, size: number): Promise<number> {
  if (lines <= 0) return size;
  let seen = 0;
  for (let end = size; end > 0; ) {
    const begin = Math.max(0, end - chunkBytes);
    const { buffer } = await file.read(Buffer.alloc(end - begin), 0, end - begin, begin);
    for (let i = buffer.length - 1; i >= 0; i--) {
      if (buffer[i] !== newline || begin + i === size - 1) continue;
      if (++seen === lines) return begin + i + 1;
    }
    end = begin;
  }
  return 0;
}

const lineEnd = Buffer.from("\n");

/** `TIME STREAM TAG CONTENT`, as the query wants to see it; nothing when it does not. */
function render(raw: Buffer, query: LogQuery): Buffer[] {
  const afterTime = raw.indexOf(0x20);
  const afterStream = raw.indexOf(0x20, afterTime + 1);
  const afterTag = raw.indexOf(0x20, afterStream + 1);
  if (afterTag < 0) return [];
  const time = raw.toString("latin1", 0, afterTime);
  const stream = raw.toString("latin1", afterTime + 1, afterStream);
  const whole = raw.toString("latin1", afterStream + 1, afterTag) === "F";
  if (query.stream !== undefined && stream !== query.stream) return [];
  if (query.since !== undefined && parseTime(time) < query.since) return [];
  return [
    ...(query.timestamps ? [Buffer.from(`${time} `)] : []),
    raw.subarray(afterTag + 1),
    ...(whole ? [lineEnd] : []),
  ];
}
