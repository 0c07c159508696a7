/** The watchdog's process. */
import { guard } from "./watchdog.ts";

// Signals to the group are not for us: we go when the agent goes.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
guard(process.stdin);
