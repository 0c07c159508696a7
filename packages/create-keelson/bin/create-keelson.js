#!/usr/bin/env node
// `npm create keelson my-operator` is `keelson init my-operator`. It imports nothing before it knows that this Node can
// run the rest.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`keelson needs Node 22.19 or newer, and this is ${process.version}. Install a newer Node.`);
  process.exit(1);
}
const { main } = await import("@keelson/cli/main");
process.exitCode = await main(["init", ...process.argv.slice(2)]);
