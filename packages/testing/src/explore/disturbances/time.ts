/** Time that is not what it was. */
import type { Disturbance } from "../disturbance.ts";
import { pick } from "../plan.ts";

const clockJumps: Disturbance = {
  name: "time: the wall clock jumps",
  weight: 0.5,
  choose: (random) => ({ minutes: pick([-60, -1, 1, 60], random) }),
  begin: ({ clock }, { minutes }) => {
    clock.jump(Number(minutes) * 60_000);
    return undefined;
  },
};

export const timeDisturbances: readonly Disturbance[] = [clockJumps];
