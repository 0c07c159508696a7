// Loads what an operator needs of Keelson: its front door.
import { cpuMs, report, rssMb } from "./cost.mjs";

const cpu = cpuMs();
const began = performance.now();
const { controller, operator, resource } = await import("keelson");
const ms = performance.now() - began;
report({ ms, cpuMs: cpuMs() - cpu, rssMb: rssMb(), loaded: [controller, operator, resource].length });
