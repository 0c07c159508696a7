/**
 * `npm run demo -- [etcd|sampledb|database] [--exit]`: an operator and its database, for real, on this machine. Default: etcd. Each
 * step is checked, and the demo fails if what it shows is not so. With `--exit` the cluster goes away at the end.
 */
const demos: Readonly<Record<string, () => Promise<unknown>>> = {
  etcd: async () => await import("./demo/etcd.ts"),
  sampledb: async () => await import("./demo/sampledb.ts"),
  database: async () => await import("./demo/database.ts"),
};
const name = process.argv.slice(2).find((argument) => !argument.startsWith("-")) ?? "etcd";
const demo = demos[name];
if (!demo) {
  console.error(`there is no demo of ${name}; there are: ${Object.keys(demos).join(", ")}`);
  process.exit(1);
}
await demo();
