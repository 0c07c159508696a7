/** A node as a process of its own, for tests that kill it: `KUBECONFIG=… node-process.ts DATA-DIRECTORY`. */
import { startNodes } from "../src/index.ts";

const host = await startNodes({
  kubeconfig: process.env.KUBECONFIG ?? "",
  names: ["mortal"],
  dataDirectory: process.argv[2],
  simulate: "never",
  log: (line) => console.error(line),
});
console.log("ready");
process.stdin.resume().once("end", async () => {
  await host.stop();
  process.exit(0);
});
