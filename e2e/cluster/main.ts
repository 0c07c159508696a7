/**
 * The embedded cluster as a person uses it, with the real kubectl; prints what was measured:
 * `npm run e2e:cluster -- [--only id,id] [--list]`.
 */
import { parseArgs } from "node:util";
import { choose, conclude, narrator, promiseOptions, type Shown, show } from "../promises/promises.ts";
import { Machine } from "./machine.ts";
import { scenarios } from "./scenarios.ts";

const { values } = parseArgs({ options: promiseOptions });
const chosen = choose(scenarios, values);
const say = narrator();
const shown: Shown[] = [];
for (const scenario of chosen) {
  await using machine = await Machine.start();
  shown.push(...(await show([scenario], machine, say)));
}
const who = process.getuid?.() === 0 ? "root" : "ordinary user";
conclude(shown, `promise (as ${who})`, say);
