/** The five fields of a cron schedule, and the names that stand for all of them. */
import { lookupTable } from "../lookup-table.ts";

/** What a field may hold. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: Readonly<Record<string, number>>;
}

const numbered = (names: string, from: number): Record<string, number> =>
  Object.fromEntries(names.split(" ").map((name, index) => [name, index + from]));

export const bounds = {
  minute: { min: 0, max: 59 },
  hour: { min: 0, max: 23 },
  day: { min: 1, max: 31 },
  month: { min: 1, max: 12, names: numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1) },
  weekday: { min: 0, max: 6, names: numbered("sun mon tue wed thu fri sat", 0) },
} as const satisfies Record<string, Bounds>;

export const descriptors: Readonly<Record<string, string>> = lookupTable({
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
});
