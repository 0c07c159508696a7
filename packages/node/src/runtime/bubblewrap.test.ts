import { describe, expect, test } from "vitest";
import { bubblewrapArguments, type ContainerView } from "./bubblewrap.ts";
import { effectiveCapabilities } from "./capabilities.ts";
import type { ContainerSpec } from "./container-runtime.ts";

const spec: ContainerSpec = {
  id: "c",
  rootfs: "/image",
  readOnlyRoot: false,
  command: ["server", "--flag"],
  env: { A: "1" },
  cwd: "/data",
  user: { uid: 0, gid: 0, groups: [] },
  mounts: [],
  capabilities: effectiveCapabilities({}, false),
  onOutput: () => undefined,
};
const view: ContainerView = {
  ids: "all",
  root: "/root-of-c",
  sharedMemory: "/shm",
  sys: "/sys-of-pod",
  kernelPaths: {
    maskedFiles: ["/proc/kcore"],
    maskedDirectories: ["/sys/firmware"],
    readOnly: ["/proc/sys", "/proc/sysrq-trigger"],
    hasGroups: true,
  },
  groups: [],
  makesCwd: true,
};
const stranger = { uid: 999, gid: 998, groups: [2000] };

describe("sandbox arguments", () => {
  test("a read-only root is sealed after the mounts", () => {
    const mounts = [{ source: "/s", target: "/a", readOnly: false }];
    const args = bubblewrapArguments({ ...spec, readOnlyRoot: true, mounts }, view);
    expect(args.lastIndexOf("--remount-ro")).toBeGreaterThan(args.indexOf("/a"));
    expect(args[args.lastIndexOf("--remount-ro") + 1]).toBe("/");
  });

  test("guards are put up by bubblewrap where the container may not mount, and else by its first process", () => {
    const args = (ids: "all" | "single", over: Partial<ContainerSpec> = {}) =>
      bubblewrapArguments({ ...spec, user: stranger, ...over }, { ...view, ids }).join(" ");
    const guards = [
      "--dev-bind /dev/null /proc/kcore",
      "--tmpfs /sys/firmware --remount-ro /sys/firmware",
      "--ro-bind /proc/sys /proc/sys --ro-bind /proc/sysrq-trigger /proc/sysrq-trigger",
    ];
    for (const guard of guards) expect(args("single")).toContain(guard);
    const none = /kcore|firmware|\/proc\/sys/;
    expect(args("single", { unmasked: true })).not.toMatch(none);
    expect(args("all")).not.toMatch(none);
  });

  test.each([
    ["one tree", [{ source: "/g", target: "" }], "--ro-bind /g /sys/fs/cgroup"],
    [
      "a tree per controller",
      [
        { source: "/m", target: "memory" },
        { source: "/c", target: "cpu" },
      ],
      "--tmpfs /sys/fs/cgroup --ro-bind /m /sys/fs/cgroup/memory --ro-bind /c /sys/fs/cgroup/cpu --remount-ro /sys/fs/cgroup",
    ],
    ["none", [], "--tmpfs /sys/fs/cgroup --remount-ro /sys/fs/cgroup"],
  ])("control groups of %s are the container's own", (_, groups, expected) => {
    expect(bubblewrapArguments(spec, { ...view, groups }).join(" ")).toContain(expected);
  });

  test("with a single id the user is played by a namespace of its own", () => {
    const single = { ...view, ids: "single" as const };
    const args = bubblewrapArguments({ ...spec, user: stranger }, single).join(" ");
    expect(args).toContain("--unshare-user --uid 999 --gid 998");
  });
});
