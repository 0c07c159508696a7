/** How much of a volume must be left for PostgreSQL to go on. */

const scarce = 0.05;
const plentyBytes = 2 ** 30;

/** Less than this is as good as nothing: a part of the volume, unless that is a lot by itself. */
export function leastFree(sizeBytes: number): number {
  return Math.min(plentyBytes, scarce * sizeBytes);
}
