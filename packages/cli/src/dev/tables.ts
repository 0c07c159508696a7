/** The tables of the live view: resources with what they wait for, reconciles with their causes, the log. */
import type { Board, ReconcileRow } from "./board.ts";
import type { ResourceRow } from "./events.ts";
import { type Paint, pad, truncate, wrap } from "./paint.ts";
import { causesText, clockText, spanText } from "./words.ts";

/** Where the view is shown. */
export interface Frame {
  readonly columns: number;
  readonly rows: number;
  readonly now: number;
  readonly paint: Paint;
  /** What the keys do. */
  readonly keys: string;
}

/** A message has this many lines at most. */
const MESSAGE_LINES = 3;

export function resourceLines(board: Board, { columns, now, paint }: Frame): string[] {
  const rows = [...board.resources.values()].sort((one, other) => (idOf(one) < idOf(other) ? -1 : 1));
  if (rows.length === 0) {
    return [paint.dim(" RESOURCES"), paint.dim(" none yet: kubectl apply -f examples, or press a")];
  }
  const width = widthFor(rows.map(idOf), columns);
  const title = `   ${pad("RESOURCES", width)}  ${pad("STATE", 8)}  ${pad("AGE", 6)}  `;
  const room = columns - title.length;
  const lines = rows.flatMap((row) => {
    const [mark, word] = stateOf(row, paint);
    const begin = ` ${mark} ${pad(idOf(row), width)}  ${word}  ${pad(spanText(now - row.createdAt), 6)}  `;
    const [first = "", ...more] = waitsFor(board, row, { now, paint, room });
    return [begin + first, ...more.map((line) => " ".repeat(title.length) + line)];
  });
  return [paint.dim(`${title}WAITS FOR`), ...lines];
}

function waitsFor(
  board: Board,
  row: ResourceRow,
  { now, paint, room }: { readonly now: number; readonly paint: Paint; readonly room: number },
): string[] {
  const next = board.nextLook(row);
  const again = next === undefined || next <= now ? "" : `looks again in ${spanText(next - now)}`;
  if (row.ready === "True" && !row.deleting) {
    const idle = row.children.length === 0 ? "" : `has ${row.children.join(", ")}`;
    const rest = paint.dim(truncate([idle, again].filter(Boolean).join("; "), room));
    return row.conditions.length === 0
      ? [rest]
      : [rest, ...wrap(row.conditions.join(", "), room, MESSAGE_LINES)];
  }
  const why = row.reason === undefined ? "its first reconcile" : `${row.reason}: ${row.message ?? ""}`;
  const lines = [
    ...wrap(why, room, MESSAGE_LINES),
    ...(row.conditions.length === 0 ? [] : wrap(row.conditions.join(", "), room, 1)),
  ];
  return again === "" ? lines : [...lines, paint.dim(again)];
}

function stateOf({ deleting, ready, stalled }: ResourceRow, paint: Paint): [mark: string, word: string] {
  const word = (text: string) => pad(text, 8);
  if (deleting) return [paint.yellow("◌"), paint.yellow(word("deleting"))];
  if (stalled) return [paint.red("✗"), paint.red(word("stalled"))];
  if (ready === "True") return [paint.green("✓"), paint.green(word("ready"))];
  return [paint.yellow("…"), paint.yellow(word(ready === undefined ? "new" : "waiting"))];
}

/** The last ones first. */
export function reconcileLines(board: Board, { columns, paint }: Frame, rows: number): string[] {
  if (rows < 1) return [];
  if (board.reconciles.length === 0) return [paint.dim(" RECONCILES"), paint.dim(" none so far")];
  const shown = board.reconciles.slice(-rows).reverse();
  const width = widthFor(shown.map(subjectOf), columns);
  const title = ` ${pad("RECONCILES", width + 10)}  ${pad("OUTCOME", 8)}  ${pad("TOOK", 6)}  BECAUSE`;
  return [paint.dim(title), ...shown.map((row) => reconcileLine(row, { columns, paint, width }))];
}

function reconcileLine(
  row: ReconcileRow,
  { columns, paint, width }: { readonly columns: number; readonly paint: Paint; readonly width: number },
): string {
  const { at, kind, report, times } = row;
  const { causes, durationMs, key, message, outcome, reason } = report;
  const colour = {
    done: paint.green,
    gone: paint.dim,
    waiting: paint.yellow,
    failed: paint.red,
    error: paint.red,
  };
  const because = causesText(causes, { kind, key });
  const often = times > 1 ? paint.dim(` ×${times}`) : "";
  const why = outcome === "done" || outcome === "gone" ? "" : paint.dim(`  →  ${reason ?? message ?? ""}`);
  const begin = ` ${paint.dim(clockText(at))}  ${pad(subjectOf(row), width)}  ${colour[outcome](pad(outcome, 8))}`;
  return truncate(`${begin}  ${pad(spanText(durationMs), 6)}  ${because}${often}${why}`, columns);
}

export function logLines(board: Board, { columns, paint }: Frame, rows: number): string[] {
  const lines = board.log.slice(-rows).map(({ at, level, text }) => {
    const colour = level === "error" ? paint.red : level === "warn" ? paint.yellow : (each: string) => each;
    return truncate(` ${paint.dim(clockText(at))}  ${colour(text)}`, columns);
  });
  return [paint.dim(" LOG"), ...lines];
}

function widthFor(names: readonly string[], columns: number): number {
  return Math.min(Math.max(12, ...names.map((name) => name.length)), Math.floor(columns / 3));
}

function subjectOf({ kind, report }: ReconcileRow): string {
  return `${kind} ${report.key}`;
}

function idOf({ key, kind }: ResourceRow): string {
  return `${kind} ${key}`;
}
