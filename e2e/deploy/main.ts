/**
 * `npm run e2e:deploy`: an operator as people deploy it, by the command, by the real Helm, from its image, under its role.
 * Prints what was measured.
 */

import { commandLine } from "../../scripts/command-line.ts";
import { compilePackages } from "../../scripts/run.ts";
import { rowOptions } from "../operator/row-options.ts";
import { choose, conclude, narrator, promiseOptions, type Shown, show } from "../promises/promises.ts";
import { scenarios } from "./scenarios.ts";
import { startSetting } from "./setting.ts";

const values = commandLine({
  command: "npm run e2e:deploy",
  does: "An operator as people deploy it: by the command, by the real Helm, from its image, under its role.",
  options: {
    ...promiseOptions,
    "control-plane": rowOptions["control-plane"],
  },
});
const controlPlane = values["control-plane"];
const chosen = choose(scenarios, { ...values, first: "deploy" });
const say = narrator();
compilePackages();
let shown: Shown[] = [];
{
  await using setting = await startSetting(controlPlane, say);
  shown = await show(chosen, setting, say);
}
conclude(shown, `promise (${controlPlane} control plane)`, say);
