/** Numbers that may be written as a percentage of another. */
import type { IntOrString } from "@keelson/core/kinds";

/** The value, or its share of `total`, rounded up or down. What is neither number nor percentage is zero. */
export function scaledValue(value: IntOrString | undefined, total: number, round: "up" | "down"): number {
  if (value === undefined) return 0;
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(value);
  if (!percent) return 0;
  const share = (Number(percent[1]) * total) / 100;
  return round === "up" ? Math.ceil(share) : Math.floor(share);
}
