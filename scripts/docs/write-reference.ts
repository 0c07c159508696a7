/** `npm run docs`: writes the pages of docs/reference that follow from the code. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandLine } from "../command-line.ts";
import { root } from "../run.ts";
import { referencePages } from "./reference.ts";

commandLine({
  command: "npm run docs",
  does: "Writes the pages of docs/reference that follow from the code.",
});
for (const [path, text] of await referencePages()) writeFileSync(join(root, "docs/reference", path), text);
