/** Figures of runs, and the table that they become. */

/** What one run showed: durations in milliseconds, by what they are of. */
export interface Run {
  readonly figures: Readonly<Record<string, number>>;
  /** What the goal demands and this run did not do, as sentences. */
  readonly missed: readonly string[];
}

/** One row of the table. */
export interface Row {
  readonly fault: string;
  readonly goal: string;
  readonly runs: readonly Run[];
  /** From the history of all runs of the row. */
  readonly acknowledged: number;
  readonly failed: number;
  readonly perSecond: number;
  readonly violations: readonly string[];
}

export function holds(row: Row): boolean {
  return (
    row.violations.length === 0 && row.runs.length > 0 && row.runs.every(({ missed }) => missed.length === 0)
  );
}

/** A row in Markdown: the median of each figure, and its least and greatest. */
export function markdown(rows: readonly Row[]): string {
  const lines = rows.map(({ fault, goal, runs, acknowledged, failed, perSecond, violations }) => {
    const names = [...new Set(runs.flatMap(({ figures }) => Object.keys(figures)))];
    const measured = names.map(
      (name) => `${name} ${spread(runs.flatMap(({ figures }) => figures[name] ?? []))}`,
    );
    const load = `${acknowledged} writes at ${perSecond.toFixed(0)}/s, ${violations.length} lost or out of order, ${failed} failed`;
    return `| ${fault} | ${goal} | ${[...measured, load].join("<br>")} | ${runs.length} |`;
  });
  return [
    "| fault | goal | measured: median (least to greatest) | runs |",
    "|---|---|---|---|",
    ...lines,
  ].join("\n");
}

function spread(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number) => seconds(sorted[Math.floor((sorted.length - 1) * part)] ?? 0);
  return sorted.length === 1 ? at(0) : `${at(0.5)} (${at(0)} to ${at(1)})`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** Compares a figure with its limit; the sentence is for the one who reads a failed run. */
export function over(
  figures: Readonly<Record<string, number>>,
  limits: Readonly<Record<string, number>>,
): string[] {
  return Object.entries(limits).flatMap(([name, limit]) => {
    const value = figures[name];
    return value !== undefined && value > limit
      ? [`${name} took ${seconds(value)}, more than ${seconds(limit)}`]
      : [];
  });
}
