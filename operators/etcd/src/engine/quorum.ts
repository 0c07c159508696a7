/** The arithmetic of majorities. */

/** How many of so many voters must agree. */
export function majority(voters: number): number {
  return Math.floor(voters / 2) + 1;
}
