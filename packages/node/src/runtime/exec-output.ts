/** The output of a command that was run in a container: all of it, and its end. */
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { OutputPipe } from "./fifo-pool.ts";

/** What comes through the pipe, without an end of its own while something holds the pipe open. */
export function onlyData(pipe: OutputPipe): PassThrough {
  const through = new PassThrough();
  pipe.readable.on("error", () => undefined);
  pipe.readable.pipe(through, { end: false });
  pipe.readable.once("close", () => through.end());
  return through;
}

/**
 * Lets what is in the pipe come through, then closes our end. Whatever the command wrote is in the pipe when it has
 * ended, so one turn that finds nothing to read has found everything; unless nothing was read because the reader
 * from us is slow.
 */
export async function closeWhenIdle({ readable }: OutputPipe, through: PassThrough): Promise<void> {
  const flows = () => readable.readableFlowing && readable.readableLength === 0 && !through.writableNeedDrain;
  for (let seen = -1; !readable.destroyed; ) {
    if (through.destroyed || (flows() && readable.bytesRead === seen)) return void readable.destroy();
    seen = flows() ? readable.bytesRead : -1;
    if (through.writableNeedDrain) await Promise.race([once(through, "drain"), once(through, "close")]);
    await nextTurn();
    await nextTurn();
  }
}
