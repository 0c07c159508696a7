/** Which part of the pods' addresses belongs to which node. */

const usualRange = "10.244.0.0/16";

/** The index-th /24 of a range. */
export function nodeRange(cidr: string | undefined, index: number): string {
  const [a = 0, b = 0, c = 0] = (cidr ?? usualRange).split(".").map(Number);
  const third = c + index;
  return `${a}.${b + Math.floor(third / 256)}.${third % 256}.0/24`;
}
