/** Runs the API server from its source: `node main.ts --port 6443 --token admin-token --data-dir DIR`. */
import { parseArgs } from "node:util";
import { type ApiServerFlags, runApiServer } from "./command/run.ts";

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: {
    port: text,
    token: text,
    "data-dir": text,
    kubeconfig: text,
    socket: text,
    "authorization-mode": text,
    "disable-admission-plugins": text,
    "enable-admission-plugins": text,
    "client-ca-file": text,
    "token-auth-file": text,
    "service-cluster-ip-range": text,
  },
});
const flags: Record<string, string | number> = {};
for (const [name, value] of Object.entries(values))
  if (value !== undefined) {
    const camel = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    flags[camel] = name === "port" ? Number(value) : value;
  }
process.exitCode = await runApiServer(flags as ApiServerFlags);
