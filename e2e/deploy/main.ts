/**
 * An operator as people deploy it: by the command, by the real Helm, from its image, under its role. Prints what was
 * measured: `npm run e2e:deploy -- [--only id,id] [--control-plane embedded|reference] [--list]`. The package must be
 * built (`npm run build`).
 */
import { parseArgs } from "node:util";
import { errorText } from "@keelson/core/internal";
import { controlPlanes } from "../operator/control-plane.ts";
import { scenarios } from "./scenarios.ts";
import { startSetting } from "./setting.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    list: { type: "boolean", default: false },
    "control-plane": { type: "string", default: "embedded" },
  },
});
if (values.list) {
  for (const { id, promise } of scenarios) console.log(`${id.padEnd(10)} ${promise}`);
  process.exit(0);
}
const controlPlane = controlPlanes.find((each) => each === values["control-plane"]);
if (controlPlane === undefined) throw new TypeError(`--control-plane is one of ${controlPlanes.join(", ")}`);

const startedAt = performance.now();
const say = (sentence: string) =>
  console.error(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} ${sentence}`);
// The first scenario deploys what the others look at.
const only = values.only === undefined ? undefined : ["deploy", ...values.only.split(",")];
const chosen = scenarios.filter(({ id }) => only === undefined || only.includes(id));
const lines = [`| promise (${controlPlane} control plane) | measured | kept |`, "| --- | --- | --- |"];
let broken = 0;
{
  await using setting = await startSetting(controlPlane, say);
  for (const { id, promise, run } of chosen) {
    say(`${id}: ${promise}`);
    try {
      const measured = await run(setting);
      say(measured);
      lines.push(`| ${promise} | ${measured} | yes |`);
    } catch (error) {
      broken++;
      say(`BROKEN ${errorText(error)}`);
      lines.push(`| ${promise} | ${errorText(error).split("\n")[0]} | **no** |`);
    }
  }
}
console.log(lines.join("\n"));
process.exit(broken === 0 ? 0 : 1);
