import { describe, expect, test } from "vitest";
import { answers, audit, decide } from "../../test/seccomp-interpreter.ts";
import { effectiveCapabilities } from "./capabilities.ts";
import { type SeccompOptions, seccompFilter } from "./seccomp-profile.ts";
import { type Processor, syscallNumbers } from "./syscalls.ts";

const options: SeccompOptions = {
  profile: { kind: "default" },
  capabilities: effectiveCapabilities({}, false),
  pretendIds: false,
};

/** The kernel's answer to a call by name. */
function ask(over: Partial<SeccompOptions>, name: string, args: bigint[] = [], processor: Processor = "x64") {
  const number = syscallNumbers(processor).get(name) ?? -1;
  const filter = seccompFilter({ ...options, ...over }, processor);
  return decide(filter, { number, args, architecture: audit[processor] });
}

describe.each<Processor>(["x64", "arm64"])("the default profile on %s", (processor) => {
  const answer = (name: string, args: bigint[] = [], capabilities = options.capabilities) =>
    ask({ capabilities }, name, args, processor);

  test.each([
    ...[
      "read",
      "openat",
      "execve",
      "futex",
      "epoll_pwait",
      "sendmsg",
      "ptrace",
      "memfd_create",
      "setuid",
      "chroot",
    ],
  ])("%s is allowed", (name) => expect(answer(name)).toBe(answers.allow));

  test.each([
    ...[
      "mount",
      "umount2",
      "unshare",
      "setns",
      "pivot_root",
      "fsopen",
      "move_mount",
      "open_tree",
      "mount_setattr",
    ],
    ...["keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup"],
    ...[
      "io_uring_enter",
      "init_module",
      "finit_module",
      "delete_module",
      "kexec_load",
      "reboot",
      "swapon",
      "acct",
    ],
    ...[
      "settimeofday",
      "clock_settime",
      "syslog",
      "open_by_handle_at",
      "quotactl",
      "kcmp",
      "pidfd_getfd",
      "mbind",
    ],
    ...["sethostname", "setdomainname", "fanotify_init", "vhangup", "move_pages"],
  ])("%s is refused", (name) => expect(answer(name)).toBe(answers.errno(1)));

  test("new namespaces are refused by clone, and clone3 does not exist", () => {
    expect(answer("clone", [0x0120_0011n])).toBe(answers.allow);
    const flags = [
      0x0002_0000n,
      0x0200_0000n,
      0x0400_0000n,
      0x0800_0000n,
      0x1000_0000n,
      0x2000_0000n,
      0x4000_0000n,
    ];
    for (const flag of flags) expect(answer("clone", [flag | 17n])).toBe(answers.errno(1));
    expect(answer("clone3")).toBe(answers.errno(38));
  });

  test("sockets to the kernel's cryptography and to the machine's host are refused", () => {
    for (const family of [1n, 2n, 10n, 16n, 17n]) expect(answer("socket", [family])).toBe(answers.allow);
    for (const family of [38n, 40n]) expect(answer("socket", [family])).toBe(answers.errno(1));
  });

  test("only harmless personalities can be taken on", () => {
    expect(answer("personality", [0xffff_ffffn])).toBe(answers.allow);
    expect(answer("personality", [0x0004_0000n])).toBe(answers.errno(1));
    expect(answer("personality", [0x1_0000_0000n])).toBe(answers.errno(1));
  });

  test("a capability opens the calls that need it", () => {
    expect(answer("mount", [], ["SYS_ADMIN"])).toBe(answers.allow);
    expect(answer("clone", [0x1000_0000n], ["SYS_ADMIN"])).toBe(answers.allow);
    expect(answer("clone3", [], ["SYS_ADMIN"])).toBe(answers.allow);
    expect(answer("settimeofday", [], ["SYS_TIME"])).toBe(answers.allow);
    expect(answer("bpf", [], ["BPF"])).toBe(answers.allow);
    expect(answer("chroot", [], [])).toBe(answers.errno(1));
    expect(answer("keyctl", [], ["SYS_ADMIN"])).toBe(answers.errno(1));
  });
});

describe("what holds for every profile", () => {
  const unconfined: Partial<SeccompOptions> = { profile: { kind: "unconfined" } };

  test("without confinement everything else is allowed", () => {
    for (const name of ["mount", "keyctl", "clone3"]) expect(ask(unconfined, name)).toBe(answers.allow);
  });

  test("splicing into standard output is refused, elsewhere it passes", () => {
    for (const over of [{}, unconfined]) {
      expect(ask(over, "sendfile", [1n, 0n])).toBe(answers.errno(22));
      expect(ask(over, "sendfile", [7n, 0n])).toBe(answers.allow);
      expect(ask(over, "splice", [0n, 0n, 2n])).toBe(answers.errno(22));
      expect(ask(over, "splice", [1n, 0n, 9n])).toBe(answers.allow);
    }
  });

  test("changes of owner are pretended only where asked", () => {
    for (const name of ["chown", "fchownat", "setuid", "setgroups"]) {
      expect(ask({ pretendIds: true }, name)).toBe(answers.errno(0));
      expect(ask({ pretendIds: true, ...unconfined }, name)).toBe(answers.errno(0));
      expect(ask({}, name)).toBe(answers.allow);
    }
  });
});

describe("a profile of one's own", () => {
  const custom = (profile: unknown): Partial<SeccompOptions> => ({
    profile: {
      kind: "custom",
      name: "mine.json",
      text: typeof profile === "string" ? profile : JSON.stringify(profile),
    },
  });
  const list = {
    defaultAction: "SCMP_ACT_ALLOW",
    syscalls: [
      { names: ["mkdir", "mkdirat", "no_such_call"], action: "SCMP_ACT_ERRNO", errnoRet: 28 },
      { names: ["kill"], action: "SCMP_ACT_KILL_PROCESS" },
      { names: ["socket"], action: "SCMP_ACT_ERRNO" },
      { names: ["socket"], action: "SCMP_ACT_ALLOW", args: [{ index: 0, value: 1, op: "SCMP_CMP_EQ" }] },
      {
        names: ["clone"],
        action: "SCMP_ACT_ERRNO",
        args: [{ index: 0, value: 0x10000000, valueTwo: 0x10000000, op: "SCMP_CMP_MASKED_EQ" }],
      },
    ],
  };

  test("does what it says", () => {
    const over = custom(list);
    expect(ask(over, "mount")).toBe(answers.allow);
    expect(ask(over, "mkdirat")).toBe(answers.errno(28));
    expect(ask(over, "kill")).toBe(answers.killProcess);
    expect(ask(over, "socket", [1n])).toBe(answers.allow);
    expect(ask(over, "socket", [2n])).toBe(answers.errno(1));
    expect(ask(over, "clone", [0x1000_0011n])).toBe(answers.errno(1));
    expect(ask(over, "clone", [17n])).toBe(answers.allow);
  });

  test.each([
    ["that is no JSON", "{", "JSON"],
    ["without an action for the rest", { syscalls: [] }, 'the action ""'],
    ["with an action that needs a listener", { defaultAction: "SCMP_ACT_NOTIFY" }, "SCMP_ACT_NOTIFY"],
    [
      "with an unknown operator",
      {
        ...list,
        syscalls: [
          { names: ["kill"], action: "SCMP_ACT_ALLOW", args: [{ index: 0, value: 1, op: "constructor" }] },
        ],
      },
      '"constructor"',
    ],
  ])("%s is refused by name", (_, profile, complaint) => {
    expect(() => ask(custom(profile), "read")).toThrow(/seccomp profile "mine.json" cannot be used/);
    expect(() => ask(custom(profile), "read")).toThrow(complaint);
  });
});
