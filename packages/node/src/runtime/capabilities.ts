/** Which capabilities a container's root has: the set container engines give by default, plus and minus. */

const engineDefault = [
  ...["CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP"],
  ...["SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"],
] as const;

/** In the kernel's numbering, which is what `ALL` means. */
export const allCapabilities: readonly string[] = [
  ...["CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"],
  ...[
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
  ],
  ...[
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
  ],
  ...[
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
  ],
  ...["MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON"],
  ...["BPF", "CHECKPOINT_RESTORE"],
];

/** As the kernel numbers them. */
export function capabilityNumbers(names: readonly string[]): number[] {
  return names.map((name) => allCapabilities.indexOf(name)).filter((number) => number >= 0);
}

export interface CapabilityChange {
  readonly add?: readonly string[];
  readonly drop?: readonly string[];
}

/** `drop` comes first, as container engines do it: `drop: [ALL], add: [X]` leaves X. */
export function effectiveCapabilities(change: CapabilityChange, privileged: boolean): string[] {
  if (privileged) return [...allCapabilities];
  const bare = (name: string) => name.toUpperCase().replace(/^CAP_/, "");
  const drop = new Set((change.drop ?? []).map(bare));
  const add = (change.add ?? []).map(bare);
  const kept = drop.has("ALL") ? [] : engineDefault.filter((name) => !drop.has(name));
  const added = add.includes("ALL") ? allCapabilities : add.filter((name) => allCapabilities.includes(name));
  return [...new Set<string>([...kept, ...added])];
}
