/**
 * `npm run e2e:webhooks`: webhooks as they run in a cluster, an operator of two replicas in pods, behind its Service, under
 * requests that never stop. Prints what was measured.
 */

import { commandLine } from "../../scripts/command-line.ts";
import { rowOptions } from "../operator/row-options.ts";
import { choose, conclude, narrator, promiseOptions, type Shown, show } from "../promises/promises.ts";
import { Guarded } from "./guarded.ts";
import { scenarios } from "./scenarios.ts";

const values = commandLine({
  command: "npm run e2e:webhooks",
  does: "Webhooks as they run in a cluster: an operator of two replicas in pods, under requests that never stop.",
  options: {
    ...promiseOptions,
    seconds: { number: "N", default: 20, help: "how long requests are sent" },
    rate: { number: "N", default: 25, help: "requests per second" },
    "control-plane": rowOptions["control-plane"],
  },
});
const pace = { rate: values.rate, seconds: values.seconds };
const chosen = choose(scenarios(pace), values);
const say = narrator();
let shown: Shown[] = [];
{
  await using guarded = await Guarded.start(values["control-plane"], say);
  shown = await show(chosen, guarded, say);
}
conclude(shown, "promise", say);
