#!/usr/bin/env node
// Starts the keelson command, which is in @keelson/cli. It imports nothing before it knows that this Node can run the rest.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `keelson needs Node 22.19 or newer, and this is ${process.version}. ` +
      "Install a newer Node, or add one to the project with: npm install --save-dev node@24",
  );
  process.exit(1);
}
const { createRequire, enableCompileCache, registerHooks } = await import("node:module");
const { existsSync } = await import("node:fs");
const { pathToFileURL } = await import("node:url");
enableCompileCache?.();
const ours = /\/node_modules\/@keelson\/[^/]+\/dist\//;
// In the repository there is nothing built: run the sources, which Node can read by itself. What a project elsewhere
// has installed was built.
if (existsSync(new URL("../src/index.ts", import.meta.url))) {
  const repository = new URL("../../../", import.meta.url).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      context.parentURL === undefined || context.parentURL.startsWith(repository)
        ? next(specifier, { ...context, conditions: [...context.conditions, "keelson-source"] })
        : next(specifier, context),
  });
} else {
  // Our built modules name each other by their files. Node would look each one up on the disk all the same, which
  // takes a fifth of the start.
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier.startsWith(".") && specifier.endsWith(".js") && ours.test(context.parentURL ?? "")
        ? { url: new URL(specifier, context.parentURL).href, format: "module", shortCircuit: true }
        : next(specifier, context),
  });
}
const command = findCommand();
if (command === undefined) {
  console.error(
    "The keelson command is not installed: operators in production do without it. " +
      "Add it to the project with: npm install --save-dev @keelson/cli",
  );
  process.exit(1);
}
const { main } = await import(command);
process.exitCode = await main(process.argv.slice(2));

/** Beside this package, or in the project that the shell is in. */
function findCommand() {
  const places = [
    () => import.meta.resolve("@keelson/cli/main"),
    () => pathToFileURL(createRequire(`${process.cwd()}/package.json`).resolve("@keelson/cli/main")).href,
  ];
  for (const find of places) {
    try {
      return find();
    } catch (error) {
      if (error.code !== "ERR_MODULE_NOT_FOUND" && error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  return undefined;
}
