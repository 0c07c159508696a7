/**
 * Faults that are done from inside a pod: an ephemeral container, as `kubectl debug` makes it, with what a script for
 * Node.js does. It ends the fault by itself, also when nobody watches any more.
 */
import type { ObjectOf } from "@keelson/core";
import type { EphemeralContainer, Pod } from "@keelson/core/kinds";
import type { StrikeReport } from "./decide-drill.ts";
import type { DrillRun, DrillSpec } from "./drill.ts";

type PodObject = ObjectOf<typeof Pod>;

const filledPath = "/var/run/keelson/drill";

/** The container of a run; a second one of the same name is never made. */
export function strikeName({ id }: Pick<DrillRun, "id">): string {
  return `drill-${id}`;
}

/** Whether a fault is done by a container in the victim. */
export function isInside(fault: DrillSpec["fault"]): boolean {
  return fault === "Kill" || fault === "Freeze" || fault === "FillDisk";
}

/** The container that does the fault. It runs as the pod's own user, who may signal its processes and write to its volumes. */
export function strikeContainer(
  pod: PodObject,
  options: {
    readonly run: DrillRun;
    readonly spec: DrillSpec;
    /** Must contain `node`. */
    readonly image: string;
    /** How much FillDisk writes at most: the size that was asked for. */
    readonly limitBytes: number;
  },
): EphemeralContainer {
  const { run, spec, image, limitBytes } = options;
  const security = pod.spec?.containers[0]?.securityContext;
  const script =
    spec.fault === "FillDisk"
      ? fillScript(`${filledPath}/.${strikeName(run)}`, limitBytes, spec.durationSeconds)
      : signalScript(spec.fault === "Kill" ? "SIGKILL" : "SIGSTOP", spec.durationSeconds);
  return {
    name: strikeName(run),
    image,
    command: ["node", "-e", script],
    terminationMessagePolicy: "FallbackToLogsOnError",
    ...(security && { securityContext: security }),
    ...(spec.fault === "FillDisk" ? { volumeMounts: [{ name: spec.volume, mountPath: filledPath }] } : {}),
  };
}

/** What the container in a victim says. */
export function strikeReport(pod: PodObject, run: DrillRun): StrikeReport | undefined {
  const name = strikeName(run);
  const status = pod.status?.ephemeralContainerStatuses?.find((each) => each.name === name);
  const ended = status?.state?.terminated;
  if (!ended)
    return pod.spec?.ephemeralContainers?.some((each) => each.name === name)
      ? { state: "working", message: status?.state?.waiting?.message ?? "" }
      : undefined;
  const message = (ended.message ?? "").trim().split("\n").slice(-1)[0] ?? "";
  return ended.exitCode === 0
    ? { state: "done", message }
    : { state: "failed", message: message || `it ended with ${ended.exitCode}` };
}

/**
 * Every process that is neither the first one of the pod, which holds its namespaces, nor of this container. Processes
 * of one container share a mount namespace.
 */
function signalScript(signal: "SIGKILL" | "SIGSTOP", seconds: number): string {
  return [
    `const { readdirSync, readlinkSync } = require("node:fs");`,
    `const mountsOf = (pid) => { try { return readlinkSync("/proc/" + pid + "/ns/mnt"); } catch { return undefined; } };`,
    `const own = mountsOf("self");`,
    `const pids = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && name !== "1" && mountsOf(name) !== own).map(Number);`,
    `const send = (signal) => pids.filter((pid) => { try { process.kill(pid, signal); return true; } catch (error) { if (error.code === "ESRCH") return true; console.error("cannot signal " + pid + ": " + error.code); return false; } }).length;`,
    `if (pids.length === 0) { console.error("the pod has no process to signal"); process.exit(1); }`,
    `if (send("${signal}") < pids.length) { send("SIGCONT"); process.exit(1); }`,
    ...(signal === "SIGSTOP"
      ? [
          `const end = () => { send("SIGCONT"); process.exit(0); };`,
          `process.on("SIGTERM", end); setTimeout(end, ${seconds} * 1000);`,
        ]
      : []),
  ].join("\n");
}

/** Writes until nothing more fits. The file goes when the time is over or the pod is told to stop. */
function fillScript(file: string, limitBytes: number, seconds: number): string {
  return [
    `const { closeSync, fsyncSync, openSync, rmSync, writeSync } = require("node:fs");`,
    `const file = ${JSON.stringify(file)};`,
    `const end = () => { rmSync(file, { force: true }); process.exit(0); };`,
    `process.on("SIGTERM", end);`,
    `let written = 0, full = false;`,
    `for (let size = 1 << 20; size >= 512; size >>= 1) {`,
    `  const zeros = Buffer.alloc(size);`,
    `  try { const to = openSync(file, "a"); try { while (written + size <= ${limitBytes}) written += writeSync(to, zeros); fsyncSync(to); } finally { closeSync(to); } }`,
    `  catch (error) { if (error.code !== "ENOSPC" && error.code !== "EDQUOT") { console.error(error.message); rmSync(file, { force: true }); process.exit(1); } full = true; }`,
    `}`,
    `if (!full) { console.error("the volume took " + written + " bytes and was not full: it has no limit of its own"); rmSync(file, { force: true }); process.exit(1); }`,
    `console.log("filled with " + written + " bytes");`,
    `setTimeout(end, ${seconds} * 1000);`,
  ].join("\n");
}
