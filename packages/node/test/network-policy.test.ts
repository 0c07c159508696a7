/** Network policies between real pods. */
import { pods as podClient } from "@keelson/client";
import { Event, NetworkPolicy, Node, Pod } from "@keelson/core/kinds";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { titled, whyNoSandbox } from "./node-machine.ts";
import { isReady, namespace, type RealPods, realPods } from "./real-pods.ts";

const reason = await whyNoSandbox();
type Spec = NonNullable<NetworkPolicy["spec"]>;

const node = (script: string) => ({ name: "c", image: "node", command: ["node", "-e", script] });
const server = [8080, 9090]
  .map((port) => `require("node:net").createServer((s) => s.on("error", () => {}).pipe(s)).listen(${port});`)
  .join("\n");
/** Says a word a few times a second on one connection, and counts the answers in a file. */
const talker = (address: string) => `
  const { connect } = require("node:net"), { writeFileSync } = require("node:fs");
  let heard = 0;
  const socket = connect(8080, "${address}");
  socket.on("data", (data) => writeFileSync("/tmp/heard", String((heard += data.length))));
  setInterval(() => socket.write("x"), 50);
`;

describe.skipIf(reason !== undefined)(titled("network policies", reason), { timeout: 120_000 }, () => {
  let pods: RealPods;
  const address = new Map<string, string>();
  const start = async (name: string, script: string, labels: Record<string, string>) => {
    const container = {
      ...node(script),
      ports: [{ name: "web", containerPort: 8080 }],
      readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, failureThreshold: 1 },
    };
    await pods.create(name, { containers: [container] }, labels);
    address.set(name, (await pods.until(name, isReady))?.status?.podIP ?? "");
  };
  beforeAll(async () => {
    pods = await realPods(["one", "two"]);
    await Promise.all([
      start("server", server, { app: "server" }),
      start("friend", server, { app: "friend" }),
      start("stranger", server, { app: "stranger" }),
    ]);
  }, 300_000);
  afterAll(async () => await pods?.[Symbol.asyncDispose]());
  const policies = () => pods.client.kind(NetworkPolicy);
  const apply = async (name: string, spec: Spec) => {
    await policies().create({ metadata: { name, namespace }, spec });
  };
  afterEach(async () => {
    const { items } = await policies().list({ namespace });
    for (const { metadata } of items) await policies().delete({ namespace, name: metadata.name });
  });

  const run = async (name: string, script: string) =>
    await podClient(pods.client).run({ namespace, name }, { command: ["node", "-e", script] });
  /** Whether a new connection is answered. */
  const reaches = async (from: string, to: string, port: number) => {
    const script = `const s = require("node:net").connect(${port}, "${address.get(to) ?? to}");
      s.on("connect", () => process.exit(0)).on("error", () => process.exit(1));
      setTimeout(() => process.exit(1), 1000);`;
    return (await run(from, script)).code === 0;
  };
  const until = async (wanted: boolean, from: string, to: string, port: number) => {
    await vi.waitFor(async () => expect(await reaches(from, to, port)).toBe(wanted), {
      timeout: 30_000,
      interval: 1,
    });
  };
  const app = (name: string) => ({ matchLabels: { app: name } });

  test("a pod is closed to all, and still asked by its node", async () => {
    await until(true, "stranger", "server", 8080);
    await apply("closed", { podSelector: app("server"), policyTypes: ["Ingress"] });
    await until(false, "stranger", "server", 8080);
    // What goes out of it is nobody's business, nor what goes to others.
    await until(true, "server", "friend", 8080);
    await until(true, "stranger", "friend", 8080);
    expect(isReady(await pods.client.kind(Pod).find({ namespace, name: "server" }))).toBe(true);
    await policies().delete({ namespace, name: "closed" });
    await until(true, "stranger", "server", 8080);
  });

  test("it is opened for some pods at some ports, until they have other labels", async () => {
    await apply("some", {
      podSelector: app("server"),
      ingress: [
        { from: [{ podSelector: app("friend") }], ports: [{ port: "web" }] },
        {
          from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } }],
          ports: [{ port: 9000, endPort: 9100 }],
        },
      ],
    });
    await until(false, "stranger", "server", 8080);
    await until(true, "friend", "server", 8080);
    await until(true, "stranger", "server", 9090);
    const label = (value: string) =>
      pods.client
        .kind(Pod)
        .patch(
          { namespace, name: "friend" },
          { type: "merge", body: { metadata: { labels: { app: value } } } },
        );
    await label("former");
    await until(false, "friend", "server", 8080);
    await label("friend");
    await until(true, "friend", "server", 8080);
  });

  test("a range of addresses is allowed without the one that is excepted", async () => {
    const except = [`${address.get("stranger")}/32`];
    await apply("range", {
      podSelector: app("server"),
      ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8", except } }] }],
    });
    await until(false, "stranger", "server", 8080);
    await until(true, "friend", "server", 8080);
  });

  test("what goes out is closed, names included, and opened for names", async () => {
    const lookup =
      'require("node:dns").lookup("kubernetes.default.svc.cluster.local", (e) => process.exit(e ? 1 : 0)); setTimeout(() => process.exit(1), 1000)';
    const resolves = async () => (await run("friend", lookup)).code === 0;
    expect(await resolves()).toBe(true);
    await apply("silent", { podSelector: app("friend"), policyTypes: ["Egress"] });
    await until(false, "friend", "server", 8080);
    await vi.waitFor(async () => expect(await resolves()).toBe(false), { timeout: 30_000, interval: 1 });
    await apply("names", {
      podSelector: app("friend"),
      policyTypes: ["Egress"],
      egress: [
        {
          to: [
            {
              namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
              podSelector: { matchLabels: { "k8s-app": "kube-dns" } },
            },
          ],
          ports: [{ port: 53, protocol: "UDP" }],
        },
      ],
    });
    await vi.waitFor(async () => expect(await resolves()).toBe(true), { timeout: 30_000, interval: 1 });
    expect(await reaches("friend", "server", 8080)).toBe(false);
    // It may be talked to.
    await until(true, "stranger", "friend", 8080);
  });

  test("a connection that exists is cut, and goes on when the policy goes", async () => {
    const script = `${server}\n${talker(address.get("server") ?? "")}`;
    await start("talker", script, { app: "talker" });
    const heard = async () =>
      Number(
        (await run("talker", 'console.log(require("node:fs").readFileSync("/tmp/heard", "utf8"))')).stdout,
      );
    const grows = async () => {
      const before = await heard();
      await run("talker", "setTimeout(() => {}, 400)");
      return (await heard()) > before;
    };
    const eventually = (wanted: boolean) =>
      vi.waitFor(async () => expect(await grows()).toBe(wanted), { timeout: 60_000, interval: 1 });
    await eventually(true);
    await apply("cut", { podSelector: app("server"), policyTypes: ["Ingress"] });
    await eventually(false);
    await policies().delete({ namespace, name: "cut" });
    await eventually(true);
    await pods.remove("talker");
  });

  test("a pod that starts under a policy is never without it", async () => {
    await apply("closed", { podSelector: app("late"), policyTypes: ["Egress"] });
    // Its first act: whether it gets through is in its exit code.
    const first = `require("node:net").connect(8080, "${address.get("server")}").on("connect", () => process.exit(7));
      setTimeout(() => process.exit(0), 1000)`;
    await pods.create("late", { restartPolicy: "Never", containers: [node(first)] }, { app: "late" });
    const ended = await pods.until(
      "late",
      (pod) => pod?.status?.phase === "Succeeded" || pod?.status?.phase === "Failed",
    );
    expect(ended?.status?.phase).toBe("Succeeded");
  });
});

describe.skipIf(reason !== undefined)(
  titled("a machine without a packet filter", reason),
  { timeout: 120_000 },
  () => {
    test("says that policies are not enforced, in its condition and by an event", async () => {
      await using pods = await realPods(["one"], { userspaceServices: true });
      await pods.client
        .kind(NetworkPolicy)
        .create({ metadata: { name: "vain", namespace }, spec: { podSelector: {} } });
      await vi.waitFor(
        async () => {
          const one = await pods.client.kind(Node).get({ name: "one" });
          const condition = one.status?.conditions?.find(({ type }) => type === "ConfinementIncomplete");
          expect(condition).toMatchObject({
            status: "True",
            message: expect.stringContaining("network policies are not enforced"),
          });
          const { items } = await pods.client.kind(Event).list({ namespace });
          expect(items).toContainEqual(expect.objectContaining({ reason: "NetworkPolicyNotEnforced" }));
        },
        { timeout: 30_000 },
      );
    });
  },
);
