/** Runs the API server from its source: `node main.ts --port 6443 --data-dir DIR`. */
import { parseArgs } from "node:util";
import { type ApiServerFlags, runApiServer } from "./command/run.ts";

const text = { type: "string" } as const;
const options = {
  port: text,
  "token-file": text,
  "data-dir": text,
  kubeconfig: text,
  socket: text,
  "authorization-mode": text,
  "disable-admission-plugins": text,
  "enable-admission-plugins": text,
  "client-ca-file": text,
  "token-auth-file": text,
  "service-cluster-ip-range": text,
  "event-ttl": text,
};

function given(): Record<string, string | undefined> {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}

const flags = new Map<string, string | number>();
for (const [name, value] of Object.entries(given()))
  if (value !== undefined) {
    const camel = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    flags.set(camel, name === "port" ? Number(value) : value);
  }
process.exitCode = await runApiServer(Object.fromEntries(flags) as ApiServerFlags);
