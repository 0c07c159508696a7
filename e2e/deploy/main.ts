/**
 * An operator as people deploy it: by the command, by the real Helm, from its image, under its role. Prints what was
 * measured: `npm run e2e:deploy -- [--only id,id] [--control-plane embedded|reference] [--list]`. The package must be
 * built (`npm run build`).
 */
import { parseArgs } from "node:util";
import { controlPlanes } from "../operator/control-plane.ts";
import { choose, conclude, narrator, promiseOptions, type Shown, show } from "../promises/promises.ts";
import { scenarios } from "./scenarios.ts";
import { startSetting } from "./setting.ts";

const { values } = parseArgs({
  options: { ...promiseOptions, "control-plane": { type: "string", default: "embedded" } },
});
const controlPlane = controlPlanes.find((each) => each === values["control-plane"]);
if (controlPlane === undefined) throw new TypeError(`--control-plane is one of ${controlPlanes.join(", ")}`);
const chosen = choose(scenarios, { ...values, first: "deploy" });
const say = narrator();
let shown: Shown[] = [];
{
  await using setting = await startSetting(controlPlane, say);
  shown = await show(chosen, setting, say);
}
conclude(shown, `promise (${controlPlane} control plane)`, say);
