/**
 * Which system calls a container may make: the profile that container engines apply by default, none, or one that a
 * person wrote in the form those engines read.
 */
import { parseJson } from "@keelson/core";
import { NodeError } from "../errors.ts";
import {
  type ArgumentTest,
  type SyscallAction,
  type SyscallRule,
  type SyscallRules,
  seccompProgram,
} from "./seccomp-program.ts";
import { type Processor, syscallNumbers } from "./syscalls.ts";

export type SeccompProfile =
  | { readonly kind: "default" | "unconfined" }
  /** `text` is the profile's JSON. */
  | { readonly kind: "custom"; readonly name: string; readonly text: string };

export interface SeccompOptions {
  readonly profile: SeccompProfile;
  readonly capabilities: readonly string[];
  /**
   * With a single user id nothing can change owner, and servers that start as root and step down (nginx, redis, start
   * scripts that chown) would fail. There such calls are answered with "done", and the container goes on as the one
   * user there is.
   */
  readonly pretendIds: boolean;
}

const allow: SyscallAction = { kind: "allow" };
const refuse: SyscallAction = { kind: "errno", errno: 1 };
const pretend: SyscallAction = { kind: "errno", errno: 0 };
const invalid: SyscallAction = { kind: "errno", errno: 22 };
const absent: SyscallAction = { kind: "errno", errno: 38 };

/** Refused to everyone: dangerous, obsolete, or both. */
const refused = words(`
  _sysctl add_key afs_syscall create_module file_setattr get_kernel_syms getpmsg
  io_uring_enter io_uring_register io_uring_setup kexec_file_load kexec_load keyctl listns migrate_pages move_pages
  nfsservctl open_tree_attr pivot_root putpmsg query_module request_key security swapoff swapon sysfs tuxcall uprobe
  uselib userfaultfd ustat vserver`);

/** Refused but to containers with one of these capabilities. */
const guarded: readonly (readonly [calls: string[], capabilities: string[]])[] = [
  [words("open_by_handle_at"), ["DAC_READ_SEARCH"]],
  [
    words(`fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie lsm_get_self_attr lsm_list_modules
      lsm_set_self_attr mount mount_setattr move_mount open_tree quotactl quotactl_fd setdomainname sethostname setns
      umount2 unshare`),
    ["SYS_ADMIN"],
  ],
  [words("bpf"), ["SYS_ADMIN", "BPF"]],
  [words("perf_event_open"), ["SYS_ADMIN", "PERFMON"]],
  [words("syslog"), ["SYS_ADMIN", "SYSLOG"]],
  [words("reboot"), ["SYS_BOOT"]],
  [words("chroot"), ["SYS_CHROOT"]],
  [words("delete_module finit_module init_module"), ["SYS_MODULE"]],
  [words("acct"), ["SYS_PACCT"]],
  [words("kcmp pidfd_getfd process_madvise"), ["SYS_PTRACE"]],
  [words("ioperm iopl"), ["SYS_RAWIO"]],
  [words("clock_settime settimeofday"), ["SYS_TIME"]],
  [words("vhangup"), ["SYS_TTY_CONFIG"]],
  [words("get_mempolicy mbind set_mempolicy set_mempolicy_home_node"), ["SYS_NICE"]],
];

/** The flags of `clone` that make namespaces. */
const namespaceFlags = 0x7e02_0000n;
/** Linux, Linux on 32 bits, and both without a random layout; or a question for the current one. */
const personalities = [0n, 8n, 0x2_0000n, 0x2_0008n, 0xffff_ffffn];
/** The kernel's own cryptography and the way to a machine's host: neither belongs to a container. */
const refusedSockets = { cryptography: 38n, host: 40n };

/** In the kernel's form. Throws `ContainerConfig` for a profile that cannot be read. */
export function seccompFilter(options: SeccompOptions, processor: Processor): Buffer {
  const numbers = syscallNumbers(processor);
  const rules = rulesOf(options, numbers);
  for (const [name, first] of bends(options)) {
    const number = numbers.get(name);
    if (number === undefined) continue;
    rules.byNumber.set(number, [...first, ...(rules.byNumber.get(number) ?? [])]);
  }
  const program: SyscallRules = {
    rules: rules.byNumber,
    otherwise: rules.otherwise,
    lastKnown: Math.max(...numbers.values()),
  };
  return seccompProgram(program, processor);
}

interface NumberedRules {
  readonly byNumber: Map<number, readonly SyscallRule[]>;
  readonly otherwise: SyscallAction;
}

function rulesOf(
  { profile, capabilities }: SeccompOptions,
  numbers: ReadonlyMap<string, number>,
): NumberedRules {
  switch (profile.kind) {
    case "unconfined":
      return { byNumber: new Map(), otherwise: allow };
    case "default":
      return { byNumber: numbered(defaultRules(capabilities, numbers), numbers), otherwise: refuse };
    case "custom":
      return customRules(profile.name, profile.text, numbers);
  }
}

function defaultRules(
  capabilities: readonly string[],
  numbers: ReadonlyMap<string, number>,
): Map<string, readonly SyscallRule[]> {
  const has = (names: readonly string[]) => names.some((name) => capabilities.includes(name));
  const closed = new Set([...refused, ...guarded.flatMap(([calls, by]) => (has(by) ? [] : calls))]);
  const rules = new Map<string, readonly SyscallRule[]>();
  for (const name of numbers.keys()) if (!closed.has(name)) rules.set(name, [{ tests: [], action: allow }]);
  const when = (...tests: ArgumentTest[]): SyscallRule => ({ tests, action: allow });
  rules.set(
    "personality",
    personalities.map((value) => when({ index: 0, is: "==", value })),
  );
  rules.set("socket", [
    when({ index: 0, is: "<", value: refusedSockets.cryptography }),
    when({ index: 0, is: "==", value: refusedSockets.cryptography + 1n }),
    when({ index: 0, is: ">", value: refusedSockets.host }),
  ]);
  if (!has(["SYS_ADMIN"])) {
    rules.set("clone", [when({ index: 0, is: "masked", mask: namespaceFlags, value: 0n })]);
    // Its flags are out of our sight; programs that are told it does not exist use the older call.
    rules.set("clone3", [{ tests: [], action: absent }]);
  }
  return rules;
}

/** What holds whatever the profile: answers that keep a container from a fault of its surroundings. */
function bends({ pretendIds }: SeccompOptions): [string, SyscallRule[]][] {
  const into = (index: number) =>
    [1n, 2n].map((value): SyscallRule => ({ tests: [{ index, is: "==", value }], action: invalid }));
  const identity =
    words(`chown fchown lchown fchownat setuid setgid setreuid setregid setgroups setresuid setresgid
    setfsuid setfsgid`);
  return [
    // Splicing a socket into standard output holds the pipe's lock for as long as the socket is silent, and who reads
    // the pipe (we) would hang with it. Programs that are told "cannot" copy by hand instead.
    ["sendfile", into(0)],
    ["splice", into(2)],
    ...(pretendIds
      ? identity.map((name): [string, SyscallRule[]] => [name, [{ tests: [], action: pretend }]])
      : []),
  ];
}

interface CustomProfile {
  readonly defaultAction?: string;
  readonly defaultErrnoRet?: number;
  readonly syscalls?: readonly {
    readonly names?: readonly string[];
    readonly action?: string;
    readonly errnoRet?: number;
    readonly args?: readonly {
      readonly index: number;
      readonly value: number;
      readonly valueTwo?: number;
      readonly op: string;
    }[];
  }[];
}

const operators: Readonly<Record<string, ArgumentTest["is"]>> = {
  SCMP_CMP_EQ: "==",
  SCMP_CMP_NE: "!=",
  SCMP_CMP_LT: "<",
  SCMP_CMP_LE: "<=",
  SCMP_CMP_GT: ">",
  SCMP_CMP_GE: ">=",
  SCMP_CMP_MASKED_EQ: "masked",
};

/** Names that this processor does not know mean nothing here, as for the engines. */
function customRules(name: string, text: string, numbers: ReadonlyMap<string, number>): NumberedRules {
  const wrong = (what: string) =>
    new NodeError("ContainerConfig", `the seccomp profile ${JSON.stringify(name)} cannot be used: ${what}`);
  const action = (kind: string | undefined, errno = 1): SyscallAction => {
    switch (kind) {
      case "SCMP_ACT_ALLOW":
        return allow;
      case "SCMP_ACT_LOG":
        return { kind: "log" };
      case "SCMP_ACT_ERRNO":
        return { kind: "errno", errno };
      case "SCMP_ACT_TRAP":
        return { kind: "trap" };
      case "SCMP_ACT_KILL_PROCESS":
        return { kind: "kill-process" };
      case "SCMP_ACT_KILL":
      case "SCMP_ACT_KILL_THREAD":
        return { kind: "kill-thread" };
      default:
        throw wrong(`the action ${JSON.stringify(kind ?? "")} is not supported`);
    }
  };
  let profile: CustomProfile;
  try {
    profile = parseJson(text) as CustomProfile;
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
  const rules = new Map<string, SyscallRule[]>();
  for (const { names = [], args = [], ...rule } of profile.syscalls ?? []) {
    const tests = args.map(({ index, value, valueTwo = 0, op }): ArgumentTest => {
      const is = Object.hasOwn(operators, op) ? operators[op] : undefined;
      if (is === undefined) throw wrong(`the operator ${JSON.stringify(op)} is not supported`);
      if (!Number.isInteger(index) || index < 0 || index > 5) throw wrong(`there is no argument ${index}`);
      const [first, second] = [value, valueTwo].map((number) => BigInt.asUintN(64, BigInt(number))) as [
        bigint,
        bigint,
      ];
      return is === "masked" ? { index, is, mask: first, value: second } : { index, is, value: first };
    });
    for (const each of names) {
      const known = rules.get(each) ?? [];
      rules.set(each, [...known, { tests, action: action(rule.action, rule.errnoRet) }]);
    }
  }
  // Rules with conditions are more particular than those without.
  for (const [each, list] of rules) {
    rules.set(
      each,
      list.toSorted((a, b) => Math.sign(b.tests.length) - Math.sign(a.tests.length)),
    );
  }
  return {
    byNumber: numbered(rules, numbers),
    otherwise: action(profile.defaultAction, profile.defaultErrnoRet),
  };
}

function numbered(
  rules: ReadonlyMap<string, readonly SyscallRule[]>,
  numbers: ReadonlyMap<string, number>,
): Map<number, readonly SyscallRule[]> {
  const all = new Map<number, readonly SyscallRule[]>();
  for (const [name, list] of rules) {
    const number = numbers.get(name);
    if (number !== undefined) all.set(number, list);
  }
  return all;
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
