/** What a hostile container tries against its node, as root and as an ordinary user: none of it may succeed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { titled, whyNoSandbox } from "./node-machine.ts";
import { type Sandboxes, sh, startSandboxes } from "./sandboxes.ts";

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

  test("sees its own network in /sys", async () => {
    const { output } = await sandboxes.run({ id: "sysfs", command: sh("cd /sys/class/net; echo *") });
    expect(output).toBe("eth0 lo\n");
  });
});
