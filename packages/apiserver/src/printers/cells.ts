/** Pieces that cells are made of. */
import {
  CoreError,
  formatLabelSelector,
  type JsonValue,
  type LabelSelectorObject,
  labelSelectorFrom,
  type ObjectMeta,
} from "@keelson/core";
import type { Container } from "@keelson/core/kinds";
import { ageOf } from "../contracts/age.ts";

export type Cell = JsonValue;

export interface Row {
  readonly cells: Cell[];
  /** Marks what is over and done with. */
  readonly conditions?: { type: string; status: string; reason: string; message: string }[];
}

/** The cells of one object; `nowMs` is what ages are counted to. */
export type RowPrinter<T> = (object: T, nowMs: number) => Cell[] | Row;

export const none = "<none>";
export const unset = "<unset>";
export const unknown = "<unknown>";

interface Named {
  readonly metadata?: ObjectMeta;
}

export function nameOf({ metadata }: Named): string {
  return metadata?.name ?? "";
}

export function ageCell({ metadata }: Named, nowMs: number): string {
  return ageOf(metadata?.creationTimestamp, nowMs);
}

export function since(time: string | null | undefined, nowMs: number): string {
  return ageOf(time ?? undefined, nowMs);
}

export function labelsCell(labels: Readonly<Record<string, string>> | undefined): string {
  const parts = Object.keys(labels ?? {})
    .sort()
    .map((key) => `${key}=${labels?.[key]}`);
  return parts.length > 0 ? parts.join(",") : none;
}

/** A selector as text; `onNothing` stands for one that selects all or nothing. */
export function selectorCell(selector: unknown, onNothing = none, onError = "<error>"): string {
  if (!selector) return onNothing;
  try {
    return formatLabelSelector(labelSelectorFrom(selector as LabelSelectorObject)) || onNothing;
  } catch (error) {
    if (error instanceof CoreError) return onError;
    throw error;
  }
}

/** Names and images of containers. */
export function containerCells(containers: readonly Container[] | undefined): [string, string] {
  const list = containers ?? [];
  return [list.map(({ name }) => name).join(","), list.map(({ image }) => image ?? "").join(",")];
}

/** The first three, and how many more there are. */
export function firstThree(list: readonly string[], onEmpty: string): string {
  if (list.length === 0) return onEmpty;
  const shown = list.slice(0, 3).join(",");
  return list.length > 3 ? `${shown} + ${list.length - 3} more...` : shown;
}

export function booleanCell(value: boolean | undefined): string {
  return value === undefined ? unset : value ? "True" : "False";
}

const shortModes: readonly [mode: string, short: string][] = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
];

export function accessModesCell(modes: readonly string[] | undefined): string {
  return shortModes
    .filter(([mode]) => modes?.includes(mode))
    .map(([, short]) => short)
    .join(",");
}
