/** Time and chance for tests, without the cluster: what the tests of lower packages need. */
export { SeededRandom } from "./seeded-random.ts";
export { VirtualClock, type VirtualClockOptions } from "./virtual-clock.ts";
