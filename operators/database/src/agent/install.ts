/** Puts the agent and a Node to run it where the pod's other container finds them: `node install.ts /keelson`. */
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const libraries = [
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/lib/x86_64-linux-gnu",
  "/usr/lib",
];
const target = process.argv[2];
if (target === undefined) throw new Error("say where to install the agent");
mkdirSync(target, { recursive: true });
copyFileSync(process.execPath, join(target, "node"));
chmodSync(join(target, "node"), 0o755);
// Images without C++, such as PgBouncer's, lack what Node needs.
mkdirSync(join(target, "lib"), { recursive: true });
for (const name of ["libstdc++.so.6", "libgcc_s.so.1", "libatomic.so.1"]) {
  const found = libraries.map((directory) => join(directory, name)).find((path) => existsSync(path));
  if (found !== undefined) copyFileSync(found, join(target, "lib", name));
}
for (const folder of ["agent", "ha", "engine"]) {
  cpSync(join(import.meta.dirname, "..", folder), join(target, folder), { recursive: true });
}
writeFileSync(join(target, "package.json"), '{ "type": "module" }\n');
// Stores are the kit's. They import nothing but each other and the errors two folders above.
const stores = dirname(fileURLToPath(import.meta.resolve("@keelson/kit/store")));
const kit = join(target, "node_modules/@keelson/kit");
cpSync(stores, join(kit, "backup/store"), { recursive: true });
copyFileSync(join(stores, "../../errors.js"), join(kit, "errors.js"));
writeFileSync(
  join(kit, "package.json"),
  '{ "type": "module", "exports": { "./store": "./backup/store/index.js" } }\n',
);
