/** Positions in PostgreSQL's write-ahead log, as numbers that can be compared. */

/** A position in bytes from the beginning of the log. */
export type Lsn = bigint;

/** Reads PostgreSQL's own form, `16/B374D848`. */
export function parseLsn(text: string): Lsn {
  const match = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/.exec(text);
  if (!match) throw new RangeError(`"${text}" is not a position in the write-ahead log`);
  return (BigInt(`0x${match[1]}`) << 32n) | BigInt(`0x${match[2]}`);
}

export function formatLsn(lsn: Lsn): string {
  return `${(lsn >> 32n).toString(16).toUpperCase()}/${(lsn & 0xffff_ffffn).toString(16).toUpperCase()}`;
}

export function maxLsn(...values: readonly (Lsn | undefined)[]): Lsn {
  return values.reduce<Lsn>((most, value) => (value !== undefined && value > most ? value : most), 0n);
}
