/**
 * Webhooks as they run in a cluster: an operator of two replicas in pods, behind its Service, under requests that never
 * stop. Prints what was measured: `npm run e2e:webhooks -- [--only id,id] [--list] [--seconds 20] [--built]`; `--built` takes
 * the image of the run before.
 */
import { parseArgs } from "node:util";
import { choose, conclude, narrator, promiseOptions, type Shown, show } from "../promises/promises.ts";
import { Guarded } from "./guarded.ts";
import { scenarios } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    ...promiseOptions,
    seconds: { type: "string", default: "20" },
    rate: { type: "string", default: "25" },
    built: { type: "boolean", default: false },
  },
});
const pace = { rate: Number(values.rate), seconds: Number(values.seconds) };
const chosen = choose(scenarios(pace), values);
const say = narrator();
let shown: Shown[] = [];
{
  await using guarded = await Guarded.start(say, values.built);
  shown = await show(chosen, guarded, say);
}
conclude(shown, "promise", say);
