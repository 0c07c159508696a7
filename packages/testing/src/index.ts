/** A cluster for a test, virtual time and seeded chance. */
export { SeededRandom } from "./seeded-random.ts";
export { VirtualClock, type VirtualClockOptions } from "./virtual-clock.ts";
export { type UntilOptions, until } from "./until.ts";
