import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "../control-plane.ts";
import { locateEtcd, locateKubernetes } from "../locate.ts";
import { etcdLines } from "../releases.ts";

const found = locateKubernetes();

function kubectl(
  controlPlane: Pick<ControlPlane, "kubectl" | "kubeconfig">,
  ...args: string[]
): Promise<string> {
  const env = { KUBECONFIG: controlPlane.kubeconfig, HOME: dirname(controlPlane.kubeconfig) };
  return promisify(execFile)(controlPlane.kubectl, args, { env }).then(({ stdout }) => stdout);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Another process that starts a control plane and then waits; resolves once that is ready. */
async function startElsewhere(options: ControlPlaneOptions) {
  const module = new URL("../control-plane.ts", import.meta.url).href;
  const program = `
    const { startControlPlane } = await import(${JSON.stringify(module)});
    const { pids, kubeconfig } = await startControlPlane(${JSON.stringify(options)});
    console.log(JSON.stringify({ pids: [...pids.values()], kubeconfig }));
    setInterval(() => {}, 1000);`;
  const owner = spawn(
    process.execPath,
    ["--conditions=keelson-source", "--input-type=module", "--eval", program],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [line] = await once(createInterface(owner.stdout), "line");
  return { owner, ...(JSON.parse(line) as { pids: number[]; kubeconfig: string }) };
}

const suite = `the real control plane${"missing" in found ? `: ${found.missing}` : ""}`;
describe.skipIf("missing" in found)(suite, () => {
  test("serves its true version to its own token and turns a stranger's away", async () => {
    await using controlPlane = await startControlPlane({ token: "let-me-in" });
    const version = JSON.parse(await kubectl(controlPlane, "get", "--raw", "/version"));
    expect(version).toMatchObject({ gitVersion: `v${controlPlane.version}` });
    expect(
      await kubectl(controlPlane, "auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}"),
    ).toContain("system:masters");
    await expect(kubectl(controlPlane, "--token=nobody", "get", "pods")).rejects.toThrow(
      /Unauthorized|logged in/,
    );
    expect(readFileSync(controlPlane.caFile, "utf8")).toContain("BEGIN CERTIFICATE");
  });

  test("disposal ends every program and removes the directory, but not a directory of logs that was given", async () => {
    const logs = mkdtempSync(join(tmpdir(), "logs-"));
    const controlPlane = await startControlPlane({ logs });
    expect([...controlPlane.pids.keys()]).toEqual(["etcd", "kube-apiserver"]);
    await controlPlane[Symbol.asyncDispose]();
    expect([...controlPlane.pids.values()].filter(isAlive)).toEqual([]);
    expect(existsSync(dirname(controlPlane.kubeconfig))).toBe(false);
    expect(readFileSync(join(logs, "kube-apiserver.log"), "utf8")).not.toBe("");
    rmSync(logs, { recursive: true });
  });

  test("nothing is left when the process that started it is killed", async () => {
    const { owner, pids, kubeconfig } = await startElsewhere({});
    expect(pids.filter(isAlive)).toHaveLength(2);
    owner.kill("SIGKILL");
    await expect.poll(() => pids.filter(isAlive), { timeout: 10_000 }).toEqual([]);
    await expect.poll(() => existsSync(dirname(kubeconfig)), { timeout: 10_000 }).toBe(false);
  });

  test("tells when a program dies on the way", async () => {
    await using controlPlane = await startControlPlane();
    process.kill(controlPlane.pids.get("etcd") ?? 0, "SIGKILL");
    expect(await controlPlane.failure).toMatchObject({
      code: "ProgramExited",
      message: expect.stringContaining("etcd ended with SIGKILL"),
    });
  });

  test("a program that refuses its flags is quoted", async () => {
    const start = startControlPlane({ flags: { "kube-apiserver": ["--no-such-flag"] } });
    await expect(start).rejects.toMatchObject({
      code: "ProgramExited",
      message: expect.stringContaining("unknown flag: --no-such-flag"),
    });
  });

  test("a port that somebody else has is named", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const start = startControlPlane({ port });
    await expect(start).rejects.toMatchObject({
      code: "PortInUse",
      message: `kube-apiserver cannot listen on 127.0.0.1:${port}: it is in use`,
    });
    server.close();
  });

  test("a token that would break out of its file is refused", async () => {
    await expect(startControlPlane({ token: "a,b" })).rejects.toThrow(/a token is printable/);
  });

  test("controllers and scheduler bring a deployment's pod to a node", async () => {
    await using controlPlane = await startControlPlane({ controllers: true, scheduler: true });
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" } };
    const directory = dirname(controlPlane.kubeconfig);
    writeFileSync(join(directory, "node.json"), JSON.stringify(node));
    await kubectl(controlPlane, "create", "-f", join(directory, "node.json"));
    const resources = { cpu: "1", memory: "1Gi", pods: "10" };
    const status = {
      capacity: resources,
      allocatable: resources,
      conditions: [{ type: "Ready", status: "True" }],
    };
    await kubectl(
      controlPlane,
      "patch",
      "node",
      "n",
      "--subresource=status",
      "--patch",
      JSON.stringify({ status }),
    );
    await kubectl(controlPlane, "create", "deployment", "d", "--image=example/app");
    const nodeOfPod = () => kubectl(controlPlane, "get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}");
    await expect.poll(nodeOfPod, { timeout: 20_000 }).toBe("n");
  });

  test.each(etcdLines.filter((line) => !("missing" in locateEtcd(line))))("runs on etcd %s", async (line) => {
    await using controlPlane = await startControlPlane({ etcd: line });
    const response = await fetch(`${controlPlane.etcdEndpoint}/version`);
    expect(await response.json()).toMatchObject({
      etcdserver: expect.stringMatching(new RegExp(`^${line}\\.`)),
    });
    await kubectl(controlPlane, "create", "configmap", "c");
  });
});

test("without its programs it says how to get them", async () => {
  vi.stubEnv("KUBEBUILDER_ASSETS", undefined);
  vi.stubEnv("KEELSON_CACHE", join(tmpdir(), "no-such-cache"));
  const start = startControlPlane();
  vi.unstubAllEnvs();
  await expect(start).rejects.toMatchObject({
    code: "ProgramMissing",
    message: expect.stringContaining("npm run reference"),
  });
});
