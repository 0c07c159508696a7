/** Numbers on the command line: whole, and within what they can mean. */

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

export const PORT: Bounds = { min: 0, max: 65_535 };

/** A parser that refuses in words what is not a whole number within the bounds. */
export function wholeNumber({ min, max }: Bounds): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new RangeError(
      max === Number.MAX_SAFE_INTEGER
        ? `it must be a whole number from ${min} on`
        : `it must be a whole number from ${min} to ${max}`,
    );
  };
}
