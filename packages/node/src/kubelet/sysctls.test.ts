import { expect, test } from "vitest";
import { forbiddenSysctl, sysctlPath } from "./sysctls.ts";

const spec = (name: string, over = {}) => ({
  containers: [],
  securityContext: { sysctls: [{ name, value: "1" }] },
  ...over,
});

test("safe settings of the pod's own namespaces are granted, in both ways of writing", () => {
  for (const name of ["kernel.shm_rmid_forced", "net.ipv4.tcp_syncookies", "net/ipv4/tcp_keepalive_time"]) {
    expect(forbiddenSysctl(spec(name), [])).toBeUndefined();
  }
});

test("others are refused in the kubelet's words, unless the node allows them", () => {
  const refused = 'forbidden sysctl: "net.core.somaxconn" not allowlisted';
  expect(forbiddenSysctl(spec("net.core.somaxconn"), [])).toBe(refused);
  expect(forbiddenSysctl(spec("net.core.somaxconn"), ["net.core.somaxconn"])).toBeUndefined();
  expect(forbiddenSysctl(spec("net.core.somaxconn"), ["net.core.*"])).toBeUndefined();
  expect(forbiddenSysctl(spec("kernel.msgmax"), ["kernel.msg*"])).toBeUndefined();
});

test("settings of the whole machine are refused whatever the node allows", () => {
  for (const name of ["kernel.core_pattern", "vm.swappiness", "fs.file-max"]) {
    expect(forbiddenSysctl(spec(name), ["*"])).toContain("not allowlisted");
  }
});

test("settings of namespaces that the pod shares with its node are refused", () => {
  expect(forbiddenSysctl(spec("net.ipv4.tcp_syncookies", { hostNetwork: true }), [])).toBe(
    'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host net enabled',
  );
  expect(forbiddenSysctl(spec("kernel.shm_rmid_forced", { hostIPC: true }), [])).toContain("host ipc");
});

test("a setting has its place, and nothing else has one", () => {
  expect(sysctlPath("net.ipv4.tcp_syncookies")).toBe("net/ipv4/tcp_syncookies");
  expect(sysctlPath("net/ipv4/conf/eth0.1/mtu")).toBe("net/ipv4/conf/eth0.1/mtu");
  expect(sysctlPath("net.ipv4.conf.eth0/1.mtu")).toBe("net/ipv4/conf/eth0.1/mtu");
  for (const name of ["kernel", "net/../../x", "net.ipv4.a;b", "net..ipv4"]) {
    expect(() => sysctlPath(name)).toThrow("is no kernel setting");
  }
});
