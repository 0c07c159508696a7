/**
 * `npm run e2e:cluster`: the embedded cluster as a person uses it, with the real kubectl; prints what was measured.
 */

import { commandLine } from "../../scripts/command-line.ts";
import { choose, conclude, narrator, promiseOptions, type Shown, show } from "../promises/promises.ts";
import { Machine } from "./machine.ts";
import { scenarios } from "./scenarios.ts";

const values = commandLine({
  command: "npm run e2e:cluster",
  does: "The embedded cluster as a person uses it, with the real kubectl. Prints what was measured.",
  options: promiseOptions,
});
const chosen = choose(scenarios, values);
const say = narrator();
const shown: Shown[] = [];
for (const scenario of chosen) {
  await using machine = await Machine.start();
  shown.push(...(await show([scenario], machine, say)));
}
const who = process.getuid?.() === 0 ? "root" : "ordinary user";
conclude(shown, `promise (as ${who})`, say);
