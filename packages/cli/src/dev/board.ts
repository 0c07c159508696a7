/** What the view shows: the events of `keelson dev`, summed up. */
import type { DevEvent, ResourceRow } from "./events.ts";
import type { Diagnostic } from "./type-check.ts";

/** A reconcile in the list of the last ones. */
export interface ReconcileRow {
  readonly at: number;
  readonly kind: string;
  readonly report: Extract<DevEvent, { type: "reconciled" }>["report"];
  /** The same outcome for the same causes came this often in a row. */
  times: number;
}

export interface LogRow {
  readonly at: number;
  readonly level: string;
  readonly text: string;
}

/** States of the operator: starting → working, broken (its code cannot be loaded) or ended; a save leads to starting. */
export type Phase = "starting" | "working" | "broken" | "ended";

/** How many lines of the past are kept. */
const KEPT = 200;

export class Board {
  name = "";
  cluster: Extract<DevEvent, { type: "cluster" }> | undefined;
  progress = "";
  phase: Phase = "starting";
  /** Why it is broken, or how it ended. */
  problem = "";
  /** The code is broken, and the version before is still at work. */
  goesOn = false;
  /** The last load: how long it took, and which files it was for. */
  load: { readonly at: number; readonly ms: number; readonly files: readonly string[] } | undefined;
  webhooks = 0;
  types: "unknown" | "checking" | "checked" = "unknown";
  diagnostics: readonly Diagnostic[] = [];
  readonly resources = new Map<string, ResourceRow>();
  readonly reconciles: ReconcileRow[] = [];
  readonly log: LogRow[] = [];
  /** The last reconcile of each resource, by kind and key. */
  readonly last = new Map<string, ReconcileRow>();

  take(event: DevEvent, now: number): void {
    switch (event.type) {
      case "progress":
        this.progress = event.sentence;
        break;
      case "cluster":
        this.cluster = event;
        this.progress = "";
        break;
      case "changed":
        this.phase = "starting";
        break;
      case "loaded":
        this.name = event.name;
        this.webhooks = event.webhooks;
        break;
      case "installed":
        this.#note(now, "", `CRDs applied: ${event.kinds.join(", ")}`);
        break;
      case "working":
        this.phase = "working";
        this.load = { at: now, ms: event.ms, files: event.files };
        break;
      case "broken":
        this.phase = "broken";
        this.problem = event.text;
        this.goesOn = event.goesOn;
        break;
      case "ended":
        this.phase = "ended";
        this.problem = event.how;
        break;
      case "checking":
        this.types = "checking";
        break;
      case "types":
        this.types = "checked";
        this.diagnostics = event.found;
        break;
      case "resource":
        this.resources.set(idOf(event.row), event.row);
        break;
      case "deleted":
        this.resources.delete(idOf(event));
        this.last.delete(idOf(event));
        break;
      case "reconciled":
        this.#reconciled(event, now);
        break;
      case "log":
        this.#note(now, event.level, event.text);
        break;
      case "applied":
        if (event.refused === undefined) this.#note(now, "", `applied ${event.what}`);
        else this.#note(now, "error", event.refused);
        break;
    }
  }

  /** When a resource is looked at again though nothing changes. */
  nextLook(row: ResourceRow): number | undefined {
    const last = this.last.get(idOf(row));
    return last?.report.nextMs === undefined ? undefined : last.at + last.report.nextMs;
  }

  #reconciled({ kind, report }: Extract<DevEvent, { type: "reconciled" }>, now: number): void {
    const id = `${kind} ${report.key}`;
    const before = this.reconciles.at(-1);
    const same = before && `${before.kind} ${before.report.key}` === id && sameStory(before.report, report);
    const row = { at: now, kind, report, times: same ? before.times + 1 : 1 };
    if (same) this.reconciles.pop();
    this.reconciles.push(row);
    if (this.reconciles.length > KEPT) this.reconciles.shift();
    this.last.set(id, row);
  }

  #note(at: number, level: string, text: string): void {
    this.log.push({ at, level, text });
    if (this.log.length > KEPT) this.log.shift();
  }
}

type Report = ReconcileRow["report"];

function sameStory(one: Report, other: Report): boolean {
  const story = ({ causes, message, outcome, reason }: Report) =>
    JSON.stringify([outcome, reason, message, causes.map(({ key, kind, type }) => [type, kind, key])]);
  return story(one) === story(other);
}

function idOf({ key, kind }: { readonly kind: string; readonly key: string }): string {
  return `${kind} ${key}`;
}
