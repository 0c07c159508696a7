/** The parts of /proc and /sys that containers must not see or change, as container engines have it. */
import { statSync } from "node:fs";

/** They tell of the machine and its other users, or are slow enough to be a weapon. */
const masked = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/sys/devices/virtual/powercap",
  "/sys/firmware",
];

/**
 * They change the machine for everyone. The kernel asks only for the machine's root, which a container of a cluster
 * that root has started is.
 */
const readOnly = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/mtrr", "/proc/sys", "/proc/sysrq-trigger"];

/** Those of them that this kernel has: a mount needs something to stand on. */
export interface KernelPaths {
  readonly maskedFiles: readonly string[];
  readonly maskedDirectories: readonly string[];
  readonly readOnly: readonly string[];
  /** Whether it has control groups. */
  readonly hasGroups: boolean;
}

export function kernelPaths(): KernelPaths {
  const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory();
  return {
    maskedFiles: masked.filter((path) => isDirectory(path) === false),
    maskedDirectories: masked.filter((path) => isDirectory(path) === true),
    readOnly: readOnly.filter((path) => isDirectory(path) !== undefined),
    hasGroups: isDirectory("/sys/fs/cgroup") === true,
  };
}
