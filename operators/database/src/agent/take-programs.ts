/**
 * Copies PostgreSQL's programs with all they need to run in another image: `node take-programs.ts 15 /old [ROOT]`. They may be
 * built for another release of the operating system, so its loader and libraries come too, and each program is called
 * through them.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"] as const;
const libraries = [
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/lib/x86_64-linux-gnu",
  "/usr/lib",
];

const [major, target, root = "/"] = process.argv.slice(2);
if (major === undefined || target === undefined) throw new Error("say which major version, and where to");
const loader = loaders.map((path) => join(root, path)).find((path) => existsSync(path));
if (loader === undefined) throw new Error(`there is no loader of programs: none of ${loaders.join(", ")}`);

for (const directory of [
  `/usr/lib/postgresql/${major}`,
  `/usr/share/postgresql/${major}`,
  "/usr/lib/locale",
]) {
  if (existsSync(join(root, directory)))
    cpSync(join(root, directory), join(target, directory), { recursive: true, dereference: true });
}
const shared = join(target, "lib");
mkdirSync(shared, { recursive: true });
for (const directory of libraries.map((path) => join(root, path))) {
  for (const name of existsSync(directory) ? readdirSync(directory) : []) {
    const [from, to] = [join(directory, name), join(shared, name)];
    if (/\.so(\.|$)/.test(name) && !existsSync(to) && statSync(from, { throwIfNoEntry: false })?.isFile())
      copyFileSync(from, to);
  }
}
copyFileSync(loader, join(target, "loader"));
chmodSync(join(target, "loader"), 0o755);

const programs = join(target, "usr/lib/postgresql", major, "bin");
for (const name of readdirSync(programs)) {
  const program = join(programs, name);
  renameSync(program, `${program}.program`);
  const words = [
    `export LOCPATH='${join(target, "usr/lib/locale")}'`,
    `exec '${join(target, "loader")}' --library-path '${shared}' --argv0 "$0" "$0.program" "$@"`,
  ];
  writeFileSync(program, `#!/bin/sh\n${words.join("\n")}\n`);
  chmodSync(program, 0o755);
}
