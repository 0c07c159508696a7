/** What a pod's security context asks for, as real pods get it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pods as podClient } from "@keelson/client";
import { Event, Node, Pod, type PodSpec } from "@keelson/core/kinds";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { titled, whyNoSandbox } from "./node-machine.ts";
import { isOver, isReady, namespace, type RealPods, realPods } from "./real-pods.ts";

const reason = await whyNoSandbox();
const sh = (script: string) => ({ name: "c", image: "busybox", command: ["sh", "-c", script] });

describe.skipIf(reason !== undefined)(titled("a security context", reason), { timeout: 120_000 }, () => {
  let pods: RealPods;
  beforeAll(async () => {
    pods = await realPods(["one"], { allowedUnsafeSysctls: ["net.core.*"] });
  }, 300_000);
  afterAll(async () => await pods?.[Symbol.asyncDispose]());

  const run = async (name: string, spec: PodSpec) => {
    await pods.create(name, { restartPolicy: "Never", ...spec });
    const pod = await pods.until(name, isOver);
    return { pod, log: pod?.status?.phase === "Succeeded" ? await pods.log(name) : "" };
  };

  test("sets the kernel settings that the node allows", async () => {
    const sysctls = [
      { name: "net.ipv4.tcp_keepalive_time", value: "61" },
      { name: "net/ipv4/ip_local_port_range", value: "40000\t41000" },
      { name: "net.core.somaxconn", value: "77" },
    ];
    const places = ["ipv4/tcp_keepalive_time", "ipv4/ip_local_port_range", "core/somaxconn"];
    const { log } = await run("tuned", {
      securityContext: { sysctls },
      containers: [sh(places.map((place) => `cat /proc/sys/net/${place}`).join("; "))],
    });
    expect(log).toBe("61\n40000\t41000\n77\n");
  });

  test("that asks for other kernel settings fails the pod as a kubelet does", async () => {
    const sysctls = [{ name: "kernel.msgmax", value: "1" }];
    const { pod } = await run("forbidden", { securityContext: { sysctls }, containers: [sh("true")] });
    const message = 'forbidden sysctl: "kernel.msgmax" not allowlisted';
    expect(pod?.status).toMatchObject({
      phase: "Failed",
      reason: "SysctlForbidden",
      message: `Pod was rejected: ${message}`,
    });
    const { items } = await pods.client.kind(Event).list({ namespace });
    expect(items).toContainEqual(expect.objectContaining({ reason: "SysctlForbidden", message }));
  });

  test("chooses the filter of system calls: the default or one of the node's files", async () => {
    const directory = join(pods.home, "nodes/seccomp/profiles");
    mkdirSync(directory, { recursive: true });
    const rule = { names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO" };
    const profile = { defaultAction: "SCMP_ACT_ALLOW", syscalls: [rule] };
    writeFileSync(join(directory, "no-mkdir.json"), JSON.stringify(profile));
    const script = "grep Seccomp: /proc/self/status | tr -d '\\t'; mkdir /x 2>/dev/null && echo made";
    const logOf = async (name: string, seccompProfile: object) =>
      (
        await run(name, {
          securityContext: { seccompProfile } as PodSpec["securityContext"],
          containers: [sh(`${script}; true`)],
        })
      ).log;
    expect(await logOf("default", { type: "RuntimeDefault" })).toBe("Seccomp:2\nmade\n");
    const own = { type: "Localhost", localhostProfile: "profiles/no-mkdir.json" };
    expect(await logOf("own", own)).toBe("Seccomp:2\n");
    await pods.create("absent", {
      securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "absent.json" } },
      containers: [sh("true")],
    });
    const waiting = await pods.until(
      "absent",
      (pod) => pod?.status?.containerStatuses?.[0]?.state?.waiting?.message !== undefined,
    );
    const message = waiting?.status?.containerStatuses?.[0]?.state?.waiting?.message;
    expect(message).toMatch(/cannot load seccomp profile ".*absent\.json": ENOENT/);
    await pods.remove("absent");
  });

  test("holds for exec, probes, hooks and debug containers as for the container itself", async () => {
    const report = "grep -E '^(CapEff|NoNewPrivs|Seccomp:)' /proc/self/status > /shared/";
    const exec = (name: string) => ({ exec: { command: ["sh", "-c", `${report}${name}`] } });
    const securityContext = {
      capabilities: { drop: ["ALL"], add: ["CHOWN"] },
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
    };
    const volumeMounts = [{ name: "shared", mountPath: "/shared" }];
    await pods.create("all-ways", {
      containers: [
        {
          ...sh(`${report}first; trap 'exit 0' TERM; while :; do sleep 0.1; done`),
          ...{ securityContext, volumeMounts },
          readinessProbe: { ...exec("probe"), periodSeconds: 1 },
          lifecycle: { postStart: exec("hook") },
        },
      ],
      volumes: [{ name: "shared", emptyDir: {} }],
    });
    await pods.until("all-ways", isReady);
    const ref = { namespace, name: "all-ways" };
    const inside = async (script: string) =>
      await podClient(pods.client).run(ref, { command: ["sh", "-c", script] });
    await inside(`${report}exec`);
    await pods.client
      .kind(Pod)
      .subresource("ephemeralcontainers")
      .patch(ref, {
        type: "strategic",
        body: {
          spec: {
            ephemeralContainers: [{ ...sh(`${report}debug`), name: "debug", securityContext, volumeMounts }],
          },
        },
      });
    await pods.until("all-ways", (pod) => !!pod?.status?.ephemeralContainerStatuses?.[0]?.state?.terminated);
    const { stdout } = await inside(
      "cd /shared; for f in first probe hook exec debug; do echo $f; cat $f; done",
    );
    const expected = "CapEff:\t0000000000000001\nNoNewPrivs:\t1\nSeccomp:\t2\n";
    const ways = ["first", "probe", "hook", "exec", "debug"];
    expect(stdout.toString()).toBe(ways.map((way) => `${way}\n${expected}`).join(""));
    expect((await inside("echo > /mark")).code).not.toBe(0);
    await pods.remove("all-ways");
  });

  test("meets a node that says what it cannot enforce", async () => {
    const node = await pods.client.kind(Node).get({ name: "one" });
    const condition = node.status?.conditions?.find(({ type }) => type === "ConfinementIncomplete");
    const isRoot = process.getuid?.() === 0;
    expect(condition).toMatchObject(
      isRoot
        ? { status: "False", reason: "PodsAreConfined" }
        : { status: "True", reason: "MachineLacksSupport", message: expect.stringContaining("memory") },
    );
  });
});
