/** What a hostile container tries against its node, as root and as an ordinary user: none of it may succeed. */
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callProgram, type SystemCall } from "../src/runtime/call-program.ts";
import { knownProcessor, syscallNumbers } from "../src/runtime/syscalls.ts";
import { titled, whyNoSandbox } from "./node-machine.ts";
import { type Sandboxes, sh, startSandboxes, type TestContainer } from "./sandboxes.ts";

const reason = await whyNoSandbox();

describe.skipIf(reason !== undefined)(titled("a hostile container", reason), () => {
  let sandboxes: Sandboxes;
  beforeAll(async () => {
    sandboxes = await startSandboxes();
  }, 300_000);
  afterAll(async () => await sandboxes?.[Symbol.asyncDispose]());

  test("that replaces its working directory by a link does not draw exec out of its root", async () => {
    await sandboxes.start({
      id: "cwd",
      cwd: "/work",
      command: sh("cd /; rmdir /work; ln -s / /work; echo mark > /inside; touch /ready; sleep 100000"),
    });
    await sandboxes.exec("cwd", "until [ -e /ready ]; do :; done");
    expect(await sandboxes.exec("cwd", "cat inside")).toMatchObject({ stdout: "mark\n" });
  });

  test("whose variables speak to the loader of programs does not reach those that enter it", async () => {
    const env = { PATH: "/usr/bin", LD_DEBUG: "libs", LD_DEBUG_OUTPUT: join(sandboxes.home, "debug") };
    await sandboxes.start({ id: "loader", env });
    await sandboxes.exec("loader", "true");
    expect(readdirSync(sandboxes.home).filter((name) => name.startsWith("debug"))).toEqual([]);
  });

  test("with a volume in place of /dev does not choose what enters it", async () => {
    const volume = join(sandboxes.home, "dev");
    mkdirSync(join(volume, ".keelson"), { recursive: true });
    for (const name of ["setpriv", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"]) {
      writeFileSync(join(volume, ".keelson", name), "#!/bin/sh\necho taken over\n", { mode: 0o755 });
    }
    await sandboxes.start({
      id: "dev",
      mounts: [
        { source: volume, target: "/dev", readOnly: false },
        { source: join(volume, ".keelson"), target: "/dev/.keelson", readOnly: false },
      ],
    });
    expect(await sandboxes.exec("dev", "echo as it should be")).toMatchObject({
      stdout: "as it should be\n",
    });
  });

  test.each(["proc", "dev", "sys"])("of an image whose /%s is a link is not started", async (name) => {
    const rootfs = join(sandboxes.home, `linked-${name}`);
    mkdirSync(join(rootfs, "elsewhere"), { recursive: true });
    symlinkSync("/newroot/elsewhere", join(rootfs, name));
    await expect(sandboxes.start({ id: `linked-${name}`, rootfs })).rejects.toThrow(`/${name} of the image`);
  });

  const injection = "x\0--bind\0/\0/machine";
  test.each<[string, Partial<TestContainer>]>([
    ["variable", { env: { PATH: "/usr/bin", A: injection } }],
    ["directory", { cwd: `/tmp/${injection}` }],
    ["command", { command: ["ls", injection] }],
    ["mount", { mounts: [{ source: "/tmp", target: `/a${injection}`, readOnly: true }] }],
  ])("whose %s holds a NUL character is not started", async (name, over) => {
    await expect(sandboxes.run({ id: `nul-${name}`, ...over })).rejects.toThrow("NUL character");
  });

  const user = { uid: 1234, gid: 4321, groups: [] };
  test.each<[string, Partial<TestContainer>, string]>([
    ["root", {}, "00000000a80425fb"],
    ["root without all but one capability", { capabilities: ["CHOWN"] }, "0000000000000001"],
    ["another user", { user }, "0000000000000000"],
  ])("of %s has the same privileges in its first process and in exec", async (id, over, expected) => {
    const report =
      "grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:)' /proc/self/status; umask; ls /proc/self/fd | wc -l";
    const { output } = await sandboxes.run({ id: `first-${id}`, ...over, command: sh(report) });
    await sandboxes.start({ id: `host-${id}`, ...over });
    const { stdout } = await sandboxes.exec(`host-${id}`, report);
    const isPlayed = sandboxes.ids === "single" && over.user !== undefined;
    const privileges = (text: string) =>
      text.split("\n").filter((line) => !(isPlayed && line.startsWith("CapBnd")));
    expect(privileges(stdout)).toEqual(privileges(output));
    for (const set of ["Prm", "Eff"]) expect(output).toContain(`Cap${set}:\t${expected}`);
    for (const set of ["Inh", "Amb"]) expect(output).toContain(`Cap${set}:\t0000000000000000`);
    if (!isPlayed && id !== "another user") expect(output).toContain(`CapBnd:\t${expected}`);
    expect(output).toContain("NoNewPrivs:\t1\nSeccomp:\t2\n0022\n4\n");
  });

  test("does not inherit the terminal that started the node", async () => {
    await sandboxes.start({ id: "session" });
    // The fields of the session and of its terminal.
    const report = 'read -r _ _ _ _ _ session terminal _ < /proc/$$/stat; echo "$(($$ - session)) $terminal"';
    expect(await sandboxes.exec("session", report)).toMatchObject({ stdout: "0 0\n" });
  });

  describe("that makes system calls", () => {
    const numbers = syscallNumbers(knownProcessor() ?? "x64");
    const tools = { source: "", target: "/tools", readOnly: true };
    const probes: [string, SystemCall["args"]][] = [
      // Without a filter each of them succeeds, for anyone.
      ["unshare", [0x1000_0000]],
      ["keyctl", [0, -3, 1]],
      ["personality", [0x0004_0000]],
    ];
    beforeAll(() => {
      tools.source = join(sandboxes.home, "tools");
      mkdirSync(tools.source, { mode: 0o755 });
      for (const [name, args] of probes) {
        const calls = [
          { number: numbers.get(name) ?? -1, args, failure: `${name} is refused` },
          { number: numbers.get("exit_group") ?? -1, args: [0] },
        ];
        const program = callProgram(calls, knownProcessor() ?? "x64");
        writeFileSync(join(tools.source, name), program, { mode: 0o755 });
      }
    });
    const names = probes.map(([name]) => name);
    const everything = names.map((name) => `/tools/${name} 2>&1`).join("; ");
    const all = names.map((name) => `${name} is refused\n`).join("");

    test("is refused what container engines refuse, in its first process and in exec", async () => {
      const mounts = [tools];
      expect(await sandboxes.run({ id: "filter", mounts, command: sh(everything) })).toMatchObject({
        output: all,
      });
      await sandboxes.start({ id: "filtered", mounts });
      expect(await sandboxes.exec("filtered", everything)).toMatchObject({ stdout: all });
    });

    test("is refused nothing without a profile, and what a profile of its own says", async () => {
      const mounts = [tools];
      const seccomp = { kind: "unconfined" } as const;
      const free = { id: "unfiltered", mounts, seccomp, command: sh(everything) };
      expect(await sandboxes.run(free)).toMatchObject({ output: "" });
      const rule = { names: ["keyctl"], action: "SCMP_ACT_ERRNO" };
      const text = JSON.stringify({ defaultAction: "SCMP_ACT_ALLOW", syscalls: [rule] });
      const custom = { kind: "custom", name: "keys.json", text } as const;
      const own = { id: "own-filter", mounts, seccomp: custom, command: sh(everything) };
      expect(await sandboxes.run(own)).toMatchObject({ output: "keyctl is refused\n" });
    });
  });

  test("is in its own control group with all its processes, sees only that one, and keeps to its limits", async (context) => {
    if (sandboxes.ids !== "all") context.skip("an ordinary user cannot make control groups");
    const memoryBytes = 64 * 1024 * 1024;
    await sandboxes.start({ id: "limited", limits: { memoryBytes, cpuMillis: 500 } });
    const limits = await sandboxes.exec(
      "limited",
      `cd /sys/fs/cgroup; cat memory.max memory/memory.limit_in_bytes cpu.max cpu/cpu.cfs_quota_us 2>/dev/null
       cat cgroup.procs memory/cgroup.procs 2>/dev/null | grep -c -x -e 1 -e $$`,
    );
    expect(limits.stdout.split(/\s+/)).toEqual(expect.arrayContaining([String(memoryBytes), "50000", "2"]));
    const { stdout } = await sandboxes.exec(
      "limited",
      "cut -d: -f2- /proc/self/cgroup | grep -e memory -e ^: ",
    );
    expect(stdout).not.toMatch(/keelson|:\/./);
    const greedy = "head -c 200000000 /dev/zero | tail -c 199999999 > /dev/null; echo $?";
    expect((await sandboxes.exec("limited", greedy)).stdout).not.toBe("0\n");
  });

  test("cannot fill the machine with processes, from its first process or from exec", async () => {
    const spec = sandboxes.container({ id: "bomb" });
    await sandboxes.ask({
      do: "pod",
      id: "small",
      hostname: "small",
      address: "10.244.0.9",
      limits: { processes: 40 },
    });
    await sandboxes.ask({ do: "run", pod: "small", spec, wait: false });
    const bomb = "i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i + 1)); done; echo all";
    const { stdout, stderr } = await sandboxes.exec("bomb", bomb);
    expect(stdout).not.toContain("all");
    expect(stderr).toMatch(/[Cc]annot fork|Resource temporarily unavailable/);
    await sandboxes.ask({ do: "remove", pod: "small" });
  });

  describe("with links in its volumes", () => {
    const volume = (name: string, links: Record<string, string> = {}) => {
      const path = join(sandboxes.home, `volume-${name}`);
      mkdirSync(path);
      for (const [link, target] of Object.entries(links)) symlinkSync(target, join(path, link));
      return path;
    };
    const mount = (source: string, target: string, readOnly = false) => ({ source, target, readOnly });
    /** Where a sandbox has the machine's files while it is set up. */
    const outside = () => join("/oldroot", sandboxes.home);

    test("makes nothing on the machine by a mount inside of them", async () => {
      const source = volume("target", { out: outside(), relative: "../../..", absolute: sandboxes.home });
      for (const link of ["out", "relative", "absolute"]) {
        const mounts = [
          mount(source, "/data"),
          mount(volume(`nested-${link}`), `/data/${link}/planted/deep`),
        ];
        const starting = sandboxes.run({ id: `target-${link}`, mounts, command: ["true"] });
        await expect(starting).rejects.toThrow("leads out of its volume");
      }
      expect(readdirSync(sandboxes.home)).not.toContain("planted");
    });

    test("makes nothing on the machine by its working directory", async () => {
      const source = volume("cwd", { out: outside(), absolute: sandboxes.home });
      for (const link of ["out", "absolute"]) {
        const cwd = `/data/${link}/planted/deep`;
        const { output } = await sandboxes.run({
          id: `cwd-${link}`,
          cwd,
          mounts: [mount(source, "/data")],
          command: sh("pwd -P"),
        });
        // As a container engine has it: the link leads to that path of the container.
        expect(output).toBe(`${link === "out" ? outside() : sandboxes.home}/planted/deep\n`);
      }
      expect(readdirSync(sandboxes.home)).not.toContain("planted");
    });

    test("gets its nested volumes where they belong, read-only where it says so", async () => {
      const [outer, inner, file] = [volume("outer"), volume("inner"), join(sandboxes.home, "one-file")];
      writeFileSync(file, "content");
      const mounts = [
        mount(file, "/data/sub/file", true),
        mount(inner, "/data/sub/dir"),
        mount(volume("sealed"), "/data/sealed", true),
        mount(outer, "/data"),
      ];
      const script = `echo o > /data/o; echo i > /data/sub/dir/i; cat /data/sub/file
        (echo x > /data/sub/file; echo x > /data/sealed/x) 2>/dev/null; echo end; pwd`;
      const { output } = await sandboxes.run({
        id: "nested",
        mounts,
        cwd: "/data/sub/made",
        command: sh(script),
      });
      expect(output).toBe("contentend\n/data/sub/made\n");
      expect(readdirSync(outer).sort()).toEqual(["o", "sealed", "sub"]);
      expect(readdirSync(inner)).toEqual(["i"]);
      expect(readdirSync(join(sandboxes.home, "volume-sealed"))).toEqual([]);
    });

    test.each(["/", "/proc", "/proc/sys", "/proc/self"])("cannot mount one at %s", async (target) => {
      const mounts = [mount(sandboxes.home, target)];
      await expect(sandboxes.run({ id: "forbidden", mounts, command: ["true"] })).rejects.toThrow(
        "cannot be mounted at",
      );
    });
  });

  test("cannot change a setting of the kernel", async () => {
    const { output } = await sandboxes.run({
      id: "sysctl",
      command: sh(`
        exec 2>/dev/null
        # Opening is enough to know, and changes nothing.
        find /proc/bus /proc/fs /proc/irq /proc/mtrr /proc/sys /proc/sysrq-trigger /sys -type f -perm /222 |
          while read -r path; do true >> "$path" && echo "$path was opened"; done
        for group in . memory pids; do mkdir /sys/fs/cgroup/$group/mine && echo a group was made; done
        echo end`),
    });
    expect(output).toBe("end\n");
  });

  test("sees neither the machine's memory nor its keys, timers and firmware", async () => {
    const { output } = await sandboxes.run({
      id: "masked",
      command: sh(`
        cat /proc/kcore /proc/keys /proc/timer_list /proc/sched_debug /proc/interrupts 2>/dev/null | head -c 100
        ls /proc/acpi /proc/scsi /proc/asound /sys/firmware 2>/dev/null | grep -v :
        echo end`),
    });
    expect(output.trim()).toBe("end");
  });

  test("has the kernel settings of its pod, and they are the pod's alone", async () => {
    const path = "net/ipv4/tcp_keepalive_time";
    const pod = { id: "tuned", hostname: "tuned", address: "10.244.0.10" };
    await sandboxes.ask({ do: "pod", ...pod, sysctls: [{ path, value: "61" }] });
    const read = (id: string) =>
      sandboxes.container({ id, command: sh(`cat /proc/sys/${path}; echo 62 > /proc/sys/${path}`) });
    const first = (output: string) => output.split("\n")[0];
    const ask = <T>(name: string, id: string) =>
      sandboxes.ask<T>({ do: "run", pod: name, spec: read(id), wait: true });
    expect(first((await ask<{ output: string }>("tuned", "tuned-1")).output)).toBe("61");
    expect(first((await ask<{ output: string }>("tuned", "tuned-2")).output)).toBe("61");
    expect(first((await ask<{ output: string }>("a", "untuned")).output)).not.toBe("61");
    await sandboxes.ask({ do: "remove", pod: "tuned" });
    const wrong = { ...pod, id: "mistuned", sysctls: [{ path, value: "soon" }] };
    await expect(sandboxes.ask({ do: "pod", ...wrong })).rejects.toThrow("create the sandbox of pod");
  });

  test("that shares its pod's processes finds nothing of the node in the first of them", async () => {
    const pod = { id: "shared", hostname: "shared", address: "10.244.0.11", processes: "pod" as const };
    await sandboxes.ask({ do: "pod", ...pod });
    const script = `
      grep -E '^(CapPrm|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/1/status
      ls /proc/1/root/ 2>&1; ls /proc/1/fd 2>&1 | wc -l; tr '\\0' ' ' < /proc/1/environ
      # An orphan is buried when it ends.
      sh -c 'sleep 0 & echo $! > /orphan'; while [ -e /proc/$(cat /orphan) ]; do :; done; echo buried`;
    const spec = sandboxes.container({ id: "looking", command: sh(script) });
    const { output } = await sandboxes.ask<{ output: string }>({
      do: "run",
      pod: "shared",
      spec,
      wait: true,
    });
    expect(output.replaceAll(/[ \t]+/g, " ")).toBe(
      [
        ...["CapPrm", "CapEff", "CapBnd"].map((set) => `${set}: 0000000000000000`),
        ...["NoNewPrivs: 1", "Seccomp: 2", "proc", "0", "PWD=/ buried", ""],
      ].join("\n"),
    );
    await sandboxes.ask({ do: "remove", pod: "shared" });
  });

  test("sees its own network in /sys", async () => {
    const { output } = await sandboxes.run({ id: "sysfs", command: sh("cd /sys/class/net; echo *") });
    expect(output).toBe("eth0 lo\n");
  });
});
