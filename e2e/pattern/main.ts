/**
 * `npm run e2e:pattern`: every claim of the operator pattern's descriptions that Keelson builds on, shown with kubectl on an
 * embedded cluster; the results go to docs/operator-pattern.md. An id of `--only` is that of a claim or of a description.
 */

import { commandLine } from "../../scripts/command-line.ts";
import { compilePackages } from "../../scripts/run.ts";
import { choose, conclude, narrator, promiseOptions, type Shown, show } from "../promises/promises.ts";
import { descriptions } from "./claims/index.ts";
import { keep } from "./report.ts";
import { Shell } from "./shell.ts";

const values = commandLine({
  command: "npm run e2e:pattern",
  does: "Claims about operators, shown with kubectl on an embedded cluster; results go to docs/operator-pattern.md.",
  options: promiseOptions,
});
const only = values.only
  ?.split(",")
  .flatMap((id) => descriptions.find((each) => each.id === id)?.claims.map((claim) => claim.id) ?? [id])
  .join(",");
const chosen = choose(
  descriptions.flatMap(({ claims }) => claims),
  { ...values, only },
);
const say = narrator();
compilePackages();
const shown: Shown[] = [];
{
  await using shell = await Shell.start(say);
  for (const claim of chosen) {
    const results = await show([claim], shell, say);
    keep(results);
    shown.push(...results);
  }
}
conclude(shown, "claim", say);
