/** Remembers beside the data which epoch began the timeline that it is on: PostgreSQL only counts timelines. */
import { readFile, rm } from "node:fs/promises";
import { parseKnownJson } from "../ha/json.ts";
import type { Upstream } from "./ports.ts";
import { writeDurably } from "./tools.ts";

/** Which epoch began the timeline that the data is on, as far as we know. */
export interface Lineage {
  readonly timeline: number;
  readonly epoch: number;
  /** What a timeline that is newer than ours would be, because we promote or follow. */
  readonly next?: { readonly timeline?: number; readonly epoch: number };
  /** Whom we follow since this was written. */
  readonly from?: string;
}

export class LineageFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<Lineage | undefined> {
    const text = await readFile(this.#path, "utf8").catch(() => undefined);
    return text === undefined ? undefined : (parseKnownJson(text) as Lineage);
  }

  async write(lineage: Lineage): Promise<void> {
    await writeDurably(this.#path, JSON.stringify(lineage));
  }

  /** Of data that is being made nothing is known yet. */
  async forget(): Promise<void> {
    await rm(this.#path, { force: true });
  }

  /** Negative when it is not known. */
  async epochOf(timeline: number): Promise<number> {
    const lineage = await this.read();
    if (!lineage) return timeline === 1 ? 1 : -1;
    if (lineage.timeline === timeline) return lineage.epoch;
    const { next } = lineage;
    const isNext =
      next && timeline > lineage.timeline && (next.timeline === undefined || next.timeline === timeline);
    return isNext ? next.epoch : -1;
  }

  /** Before the timeline changes, whose it will be. */
  async expect(next: Lineage["next"], present: number, from?: string): Promise<void> {
    const timeline = Math.max(present, 1);
    const epoch = await this.epochOf(timeline);
    await this.write({ timeline, epoch, ...(next && { next }), ...(from !== undefined && { from }) });
  }

  /**
   * We are on a timeline of which nobody told us before we got there, and this is who began it. It is theirs if we have
   * followed nobody else since we knew where we were: with the same data an instance gives a number only once.
   */
  async recognise({ name, timeline, timelineEpoch }: Upstream): Promise<void> {
    const lineage = await this.read();
    if (lineage?.from !== name || lineage.epoch < 0 || lineage.timeline >= timeline) return;
    if ((await this.epochOf(timeline)) >= 0) return;
    await this.write({ timeline, epoch: timelineEpoch, from: name });
  }
}
