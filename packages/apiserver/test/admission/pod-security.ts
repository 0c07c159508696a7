/** Pods and templates of all sorts in namespaces of all levels. */
import type { Story } from "../validation/story.ts";

type Json = Record<string, unknown>;

const prefix = "pod-security.kubernetes.io/";
const namespaces: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  baseline: { [`${prefix}enforce`]: "baseline" },
  restricted: { [`${prefix}enforce`]: "restricted" },
  warned: { [`${prefix}warn`]: "restricted" },
  older: { [`${prefix}enforce`]: "restricted", [`${prefix}enforce-version`]: "v1.18" },
  mixed: {
    [`${prefix}enforce`]: "privileged",
    [`${prefix}warn`]: "baseline",
    [`${prefix}warn-version`]: "v1.25",
  },
};

const harmless: Json = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};

const contexts: readonly Json[] = [
  {},
  harmless,
  { ...harmless, privileged: true, allowPrivilegeEscalation: true },
  { ...harmless, allowPrivilegeEscalation: true },
  { ...harmless, capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] } },
  { ...harmless, capabilities: { add: ["SYS_ADMIN", "CHOWN"], drop: ["ALL"] } },
  { ...harmless, runAsNonRoot: false },
  { ...harmless, runAsUser: 0 },
  { ...harmless, seccompProfile: { type: "Unconfined" } },
  { ...harmless, seLinuxOptions: { type: "foo_t", user: "u", role: "r" } },
  { ...harmless, seLinuxOptions: { type: "container_engine_t" } },
  { ...harmless, procMount: "Unmasked" },
  { ...harmless, appArmorProfile: { type: "Unconfined" } },
  { ...harmless, windowsOptions: { hostProcess: true } },
];

const wholes: readonly Json[] = [
  { hostNetwork: true },
  { hostPID: true, hostIPC: true },
  { hostUsers: false },
  { os: { name: "windows" } },
  { securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } } },
  {
    securityContext: {
      runAsNonRoot: false,
      runAsUser: 0,
      seccompProfile: { type: "Unconfined" },
      seLinuxOptions: { type: "x" },
      appArmorProfile: { type: "Unconfined" },
    },
  },
  {
    securityContext: {
      sysctls: [
        { name: "net.ipv4.tcp_rmem", value: "1" },
        { name: "kernel.shm_rmid_forced", value: "1" },
        { name: "net.core.somaxconn", value: "1" },
      ],
    },
  },
  {
    volumes: [
      { name: "a", hostPath: { path: "/" } },
      { name: "b", nfs: { server: "s", path: "/" } },
      { name: "c", emptyDir: {} },
    ],
  },
];

const container = (securityContext: Json, more: Json = {}): Json => ({
  name: "c",
  image: "i",
  securityContext,
  ...more,
});

function* specs(): Generator<Json> {
  for (const context of contexts) {
    yield { containers: [container(context)] };
    yield {
      containers: [container(harmless), container(context, { name: "d" })],
      initContainers: [container(context, { name: "e" })],
    };
  }
  for (const whole of wholes) {
    yield { containers: [container({})], ...whole };
    yield { containers: [container(harmless)], ...whole };
  }
  yield {
    containers: [
      container(harmless, {
        ports: [
          { containerPort: 80, hostPort: 80 },
          { containerPort: 81, hostPort: 81 },
        ],
      }),
      container(harmless, { name: "d", ports: [{ containerPort: 9, hostPort: 9 }] }),
    ],
  };
  yield {
    containers: [
      container(harmless, {
        livenessProbe: { httpGet: { host: "h", port: 1 } },
        lifecycle: { preStop: { tcpSocket: { host: "g", port: 2 } } },
      }),
    ],
  };
}

export async function podSecurity(story: Story): Promise<void> {
  for (const [namespace, labels] of Object.entries(namespaces)) await story.namespace(namespace, labels);
  await story.settle();
  for (const namespace of Object.keys(namespaces))
    for (const [i, spec] of [...specs()].entries()) {
      const pod = await story.do("POST", `/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `p${i}` },
        spec,
      });
      story.keep(`${namespace} pod ${i}`, pod.code, messageOf(pod.body), pod.warnings);
      const deployment = await story.do(
        "POST",
        `/apis/apps/v1/namespaces/${namespace}/deployments?dryRun=All`,
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: `p${i}` },
          spec: {
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec },
          },
        },
      );
      story.keep(
        `${namespace} template ${i}`,
        deployment.code,
        messageOf(deployment.body),
        deployment.warnings,
      );
    }
  for (const value of ["nonsense", "v1.99"])
    await story.tell(`namespace ${value}`, "POST", "/api/v1/namespaces?dryRun=All", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "other", labels: { [`${prefix}enforce`]: value, [`${prefix}warn-version`]: value } },
    });
}

const messageOf = (body: unknown): unknown => (body as { message?: string }).message;
