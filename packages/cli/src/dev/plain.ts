/** The events of `keelson dev` as plain lines, for a pipe or a file. */
import type { DevEvent, ResourceRow } from "./events.ts";
import type { Diagnostic } from "./type-check.ts";
import { causesText, spanText } from "./words.ts";

/** No line for what is not news. Keeps the last state of each resource to tell. */
export class PlainLines {
  readonly #said = new Map<string, string>();
  #types: number | undefined;

  linesOf(event: DevEvent): string[] {
    switch (event.type) {
      case "progress":
        return [event.sentence];
      case "cluster":
        return [
          `cluster ${event.name} is up at ${event.server}, ${event.pods === "none" ? "without nodes" : `${event.pods} pods`}`,
          `export KUBECONFIG=${event.kubeconfig}`,
        ];
      case "changed":
        return [`${event.files.join(", ")} changed`];
      case "loaded":
        return [];
      case "installed":
        return [`CRDs applied: ${event.kinds.join(", ")}`];
      case "working":
        return [
          event.files.length === 0
            ? `the operator works, ${spanText(event.ms)} after its start`
            : `reloaded in ${spanText(event.ms)}`,
        ];
      case "broken":
        return [`the operator cannot be loaded: ${event.text}`];
      case "ended":
        return [`the operator ended ${event.how}; it starts again when a file is saved`];
      case "checking":
        return [];
      case "types":
        return this.#typesLines(event.found);
      case "resource":
        return this.#resourceLines(event.row);
      case "deleted":
        this.#said.delete(`${event.kind} ${event.key}`);
        return [`${event.kind} ${event.key} is gone`];
      case "reconciled":
        return [reconciledLine(event)];
      case "log":
        return [`log ${event.level === "" ? "" : `${event.level}: `}${event.text}`];
      case "applied":
        return [event.refused ?? `applied ${event.what}`];
    }
  }

  #typesLines(found: readonly Diagnostic[]): string[] {
    const before = this.#types;
    this.#types = found.length;
    if (found.length === 0) return before === 0 ? [] : ["types: no errors"];
    return found.flatMap((each) => [...placeLines(each), ...each.frame.map((line) => `  ${line}`)]);
  }

  #resourceLines(row: ResourceRow): string[] {
    const { key, kind } = row;
    const text = stateText(row);
    if (this.#said.get(`${kind} ${key}`) === text) return [];
    this.#said.set(`${kind} ${key}`, text);
    return [`${kind} ${key}: ${text}`];
  }
}

/** `src/a.ts:3:5 TS2322: …`, and the most particular of what the compiler adds. */
export function placeLines({ code, column, details, file, line, message }: Diagnostic): string[] {
  const last = details.at(-1);
  return [`${file}:${line}:${column} ${code}: ${message}`, ...(last === undefined ? [] : [`  ${last}`])];
}

function stateText(row: ResourceRow): string {
  return [readyText(row), ...row.conditions].join(", ");
}

function readyText({ deleting, message, ready, reason, stalled }: ResourceRow): string {
  const why = reason === undefined ? "" : ` (${reason}${message ? `: ${message}` : ""})`;
  if (deleting) return `is being deleted${why}`;
  if (ready === undefined) return "is new";
  if (ready === "True") return "Ready";
  return `${stalled ? "stalled" : "waits"}${why}`;
}

function reconciledLine({ kind, report }: Extract<DevEvent, { type: "reconciled" }>): string {
  const { causes, durationMs, key, message, nextMs, outcome, reason } = report;
  const why = message === undefined ? "" : `: ${reason === undefined ? "" : `${reason}, `}${message}`;
  const next = nextMs === undefined ? "" : `, looks again in ${spanText(nextMs)}`;
  return `reconciled ${kind} ${key} in ${spanText(durationMs)}, ${outcome}${why}${next} (${causesText(causes, { kind, key })})`;
}
