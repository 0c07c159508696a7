/** `npm run docs`: writes the pages of docs/reference that follow from the code. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../run.ts";
import { referencePages } from "./reference.ts";

for (const [path, text] of await referencePages()) writeFileSync(join(root, "docs/reference", path), text);
