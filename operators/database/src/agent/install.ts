/** Puts the agent and a Node to run it where the pod's other container finds them: `node install.ts /keelson`. */
import { chmodSync, copyFileSync, cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const target = process.argv[2];
if (target === undefined) throw new Error("say where to install the agent");
mkdirSync(target, { recursive: true });
copyFileSync(process.execPath, join(target, "node"));
chmodSync(join(target, "node"), 0o755);
for (const folder of ["agent", "ha", "engine"]) {
  cpSync(join(import.meta.dirname, "..", folder), join(target, folder), { recursive: true });
}
writeFileSync(join(target, "package.json"), '{ "type": "module" }\n');
