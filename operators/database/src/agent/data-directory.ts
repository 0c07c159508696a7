/** What the data directory of an instance is: whose, on which timeline, and left by a primary or by a standby. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Local } from "../ha/step.ts";
import { type Control, newestTimeline, readControl, systemOf } from "./control-file.ts";
import type { LineageFile } from "./lineage.ts";
import { majorOf } from "./major-upgrade.ts";
import type { Tools } from "./tools.ts";

/** After so many attempts in a row the control file counts as unreadable. */
const readAttempts = 4;

export class DataDirectory {
  readonly path: string;
  readonly #options: {
    readonly major: string;
    readonly tools: Tools;
    readonly lineage: LineageFile;
  };
  #systemId: string | undefined;
  #failedReads = 0;

  constructor(path: string, options: { major: string; tools: Tools; lineage: LineageFile }) {
    this.path = path;
    this.#options = options;
  }

  /** It was replaced: what was known of it is void. */
  forget(): void {
    this.#systemId = undefined;
  }

  /** Undefined when there is none. What a server that runs has read itself need not be read again. */
  async read({ isRunning }: { readonly isRunning: boolean }): Promise<Local["data"]> {
    if (!existsSync(join(this.path, "global", "pg_control"))) return undefined;
    const major = await majorOf(this.path);
    if (major !== undefined && major !== this.#options.major) return await this.#foreignData(major);
    const isKnown = this.#systemId !== undefined && isRunning;
    const control = isKnown ? undefined : await this.#readControl();
    // Data that its own tools cannot read belongs to nobody.
    if (control === "unreadable") return { systemId: "", timeline: 0, timelineEpoch: -1, kind: "standby" };
    this.#systemId = control?.systemId ?? this.#systemId;
    const timeline = Math.max(control?.timeline ?? 0, await newestTimeline(this.path));
    const kind = existsSync(join(this.path, "standby.signal")) ? "standby" : "primary";
    return {
      systemId: this.#systemId ?? "",
      timeline,
      timelineEpoch: await this.#options.lineage.epochOf(timeline),
      kind,
    };
  }

  /** Of data that another major version wrote only the identifier can be read, which is the first field in all of them. */
  async #foreignData(major: string): Promise<Local["data"]> {
    const kind = existsSync(join(this.path, "standby.signal")) ? "standby" : "primary";
    return { systemId: await systemOf(this.path), timeline: 0, timelineEpoch: -1, kind, major };
  }

  /** One failure may have another cause than the file. */
  async #readControl(): Promise<Control | "unreadable"> {
    try {
      const control = await readControl(this.#options.tools, this.path);
      this.#failedReads = 0;
      return control;
    } catch (error) {
      if (++this.#failedReads < readAttempts) throw error;
      return "unreadable";
    }
  }
}
