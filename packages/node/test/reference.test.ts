/** The node on the real control plane: it is a kubelet to it like any other. */
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Credentials, connect } from "@keelson/client";
import { type ControlPlane, startControlPlane } from "@keelson/reference/control-plane";
import { locateKubernetes } from "@keelson/reference/locate";
import { SeededRandom, VirtualClock } from "@keelson/testing/clock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NodeIdentity } from "../src/identity/node-identity.ts";
import { startNodes } from "../src/index.ts";
import { titled, whyNoSandbox } from "./node-machine.ts";

const found = locateKubernetes();
const reason = (await whyNoSandbox()) ?? ("missing" in found ? found.missing : undefined);

const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
      - name: nginx
        image: nginx:1.22
        readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
---
apiVersion: batch/v1
kind: Job
metadata: { name: client }
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: busybox
        command: [sh, -c, "until wget -qO- http://web | grep Welcome; do sleep 0.1; done"]
`;

const bootstrapToken = "abcdef.0123456789abcdef";
const binding = (name: string, role: string, group: string) => `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: "${name}" }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "${role}" }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: "${group}" }]
`;
const requests = "system:certificates.k8s.io:certificatesigningrequests";
/** What kubeadm sets up for nodes to join, and kube-proxy's role for the nodes, since ours do its work. */
const joining = [
  `
apiVersion: v1
kind: Secret
metadata: { name: bootstrap-token-abcdef, namespace: kube-system }
type: bootstrap.kubernetes.io/token
stringData:
  token-id: abcdef
  token-secret: 0123456789abcdef
  usage-bootstrap-authentication: "true"
  auth-extra-groups: system:bootstrappers:joining
`,
  binding("joining", "system:node-bootstrapper", "system:bootstrappers:joining"),
  binding("approve-first", `${requests}:nodeclient`, "system:bootstrappers:joining"),
  binding("approve-renewal", `${requests}:selfnodeclient`, "system:nodes"),
  binding("proxier", "system:node-proxier", "system:nodes"),
].join("");

const suite = titled("on the real control plane", reason);
describe.skipIf(reason !== undefined)(suite, { timeout: 120_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "kn-"));
  const stack = new AsyncDisposableStack();
  let plane: ControlPlane;
  const kubectl = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(plane.kubectl, ["--kubeconfig", plane.kubeconfig, ...args]);
    return stdout;
  };
  const bootstrapKubeconfig = join(home, "bootstrap.kubeconfig");
  /** The administrator's, with the token in place of theirs. */
  const bootstrapConfig = async () => {
    const config = JSON.parse(await kubectl("config", "view", "--raw", "--flatten", "-o", "json"));
    config.users = config.users.map(({ name }: { name: string }) => ({
      name,
      user: { token: bootstrapToken },
    }));
    return JSON.stringify(config);
  };
  const nodeKubeconfig = (path: string) => {
    const config = JSON.parse(readFileSync(bootstrapKubeconfig, "utf8"));
    config.users = config.users.map(({ name }: { name: string }) => ({
      name,
      user: { "client-certificate": path, "client-key": path },
    }));
    const file = join(home, "node.kubeconfig");
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  };
  beforeAll(async () => {
    const flags = ["--enable-bootstrap-token-auth=true", "--enable-admission-plugins=NodeRestriction"];
    const options = { controllers: true, scheduler: true, flags: { "kube-apiserver": flags } };
    plane = stack.use(await startControlPlane(options));
    writeFileSync(join(home, "joining.yaml"), joining);
    await kubectl("apply", "-f", join(home, "joining.yaml"));
    writeFileSync(bootstrapKubeconfig, await bootstrapConfig(), { mode: 0o600 });
    stack.use(
      await startNodes({
        bootstrapKubeconfig,
        names: ["one"],
        dataDirectory: home,
        simulate: "never",
      }),
    );
  }, 300_000);
  afterAll(async () => {
    await stack.disposeAsync();
    rmSync(home, { recursive: true, force: true });
  });

  test("a deployment rolls out, its service answers, and kubectl gets in", async () => {
    writeFileSync(join(home, "all.yaml"), manifest);
    await kubectl("apply", "-f", join(home, "all.yaml"));
    await kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    await kubectl("wait", "--for=condition=complete", "job/client", "--timeout=60s");
    expect(await kubectl("logs", "job/client")).toContain("Welcome to nginx!");
    expect(await kubectl("exec", "deployment/web", "--", "sh", "-c", "echo $KUBERNETES_SERVICE_HOST")).toBe(
      "10.96.0.1\n",
    );
  });

  test("what we report, the real server takes without a correction", async () => {
    const pod = JSON.parse(await kubectl("get", "pods", "-l", "app=web", "-o", "json")).items[0];
    expect(
      pod.status.conditions.map(({ type, status }: { type: string; status: string }) => `${type}=${status}`),
    ).toEqual([
      "PodReadyToStartContainers=True",
      "Initialized=True",
      "Ready=True",
      "ContainersReady=True",
      "PodScheduled=True",
    ]);
    expect(pod.status.observedGeneration).toBe(pod.metadata.generation);
    const node = JSON.parse(await kubectl("get", "node", "one", "-o", "json"));
    expect(node.status.conditions.map(({ type }: { type: string }) => type)).toEqual([
      "MemoryPressure",
      "DiskPressure",
      "PIDPressure",
      "ConfinementIncomplete",
      "Ready",
    ]);
  });

  test("the node is itself: by a certificate that nobody else can read, for what it may do and nothing else", async () => {
    const path = join(home, "pki/one/kubelet-client-current.pem");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "pki/one")).mode & 0o777).toBe(0o700);
    const asNode = ["--kubeconfig", nodeKubeconfig(path), "--token="];
    const who = JSON.parse(await kubectl(...asNode, "auth", "whoami", "-o", "json")).status.userInfo;
    expect(who).toMatchObject({
      username: "system:node:one",
      groups: expect.arrayContaining(["system:nodes"]),
    });
    await expect(kubectl(...asNode, "get", "secrets", "-A")).rejects.toThrow("forbidden");
    await expect(kubectl(...asNode, "label", "node", "one", "node-role.kubernetes.io/x=y")).rejects.toThrow(
      "is not allowed to modify labels",
    );
  });

  test("a certificate is replaced before it ends, and after it has ended the node asks again", async () => {
    const clock = new VirtualClock({
      startMs: Date.now(),
      // The requests are real: time is frozen while one waits to be granted.
      busy: () => existsSync(join(home, "pki/long-lived/kubelet-client.key.tmp")),
    });
    const logged: string[] = [];
    const options = {
      nodeName: "long-lived",
      directory: join(home, "pki/long-lived"),
      join: () => connect({ kubeconfig: bootstrapKubeconfig }),
      connect: (credentials: Credentials) => connect({ kubeconfig: bootstrapKubeconfig, credentials }),
      random: new SeededRandom(1),
      clock,
      log: (line: string) => void logged.push(line),
    };
    const shown = async (identity: NodeIdentity) => (await identity.current()).certificate ?? "";
    let first: string;
    {
      await using identity = await NodeIdentity.open(options);
      first = await shown(identity);
      const { validFrom, validTo } = new X509Certificate(first);
      const lifeMs = Date.parse(validTo) - Date.parse(validFrom);
      await clock.advance(0.69 * lifeMs);
      expect(await shown(identity)).toBe(first);
      await clock.advance(0.22 * lifeMs);
      expect(logged).toContain("node long-lived has a new certificate");
      expect(await shown(identity)).not.toBe(first);
      const review = await identity.client.raw({
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      });
      expect(review).toMatchObject({ status: { userInfo: { username: "system:node:long-lived" } } });
    }
    const second = await NodeIdentity.open(options).then(async (identity) => {
      await using _ = identity;
      return await shown(identity);
    });
    expect(second).not.toBe(first);
    // Kept, until it is over.
    await clock.advance(366 * 24 * 3600_000);
    await using third = await NodeIdentity.open(options);
    expect([first, second]).not.toContain(await shown(third));
  });

  test("a deleted pod is replaced and the old one leaves", async () => {
    const before = (await kubectl("get", "pods", "-l", "app=web", "-o", "name")).trim().split("\n");
    await kubectl("delete", before[0] ?? "", "--timeout=60s");
    await kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    const after = (await kubectl("get", "pods", "-l", "app=web", "-o", "name")).trim().split("\n");
    expect(after).toHaveLength(2);
    expect(after).not.toContain(before[0]);
  });
});
