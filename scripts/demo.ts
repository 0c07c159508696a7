/**
 * `npm run demo`: an operator and its database, for real, on this machine. Default: etcd. Each
 * step is checked, and the demo fails if what it shows is not so. With `--exit` the cluster goes away at the end.
 */
import { commandLine, refuse } from "./command-line.ts";
import { exitOption } from "./narrate.ts";

const demos: Readonly<Record<string, () => Promise<unknown>>> = {
  etcd: async () => await import("./demo/etcd.ts"),
  sampledb: async () => await import("./demo/sampledb.ts"),
  database: async () => await import("./demo/database.ts"),
};
const { words } = commandLine({
  command: "npm run demo",
  does: "Shows an operator and its database on this machine, and checks each step (default: etcd).",
  words: `[${Object.keys(demos).join("|")}]`,
  options: exitOption,
});
const [name = "etcd"] = words;
const demo = demos[name];
if (!demo) refuse(`there is no demo of ${name}; there are: ${Object.keys(demos).join(", ")}`);
await demo();
