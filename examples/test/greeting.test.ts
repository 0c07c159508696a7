/** The Greeting controller, unchanged, on every API server that this machine has; the test plays the kubelet. */
import { type Client, connect, createClient } from "@keelson/client";
import type { ObjectOf } from "@keelson/core";
import { Pod } from "@keelson/core/kinds";
import { locateKubernetes } from "@keelson/reference/locate";
import { silentLogger } from "@keelson/runtime";
import { until } from "@keelson/testing";
import { install, operator } from "keelson";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Greeting, greeting } from "../src/greeting.ts";

const servers = [
  { name: "the embedded API server", missing: undefined, start: startEmbedded },
  { name: "the real API server", missing: missingReference(), start: startReference },
] as const;

describe.each(servers)("a Greeting on $name", ({ missing, start }) => {
  const here = { namespace: "default", name: "hello" };
  const stack = new AsyncDisposableStack();
  let client: Client;

  beforeAll(async () => {
    if (missing) return;
    client = await start(stack);
    await install(client, [Greeting]);
    stack.use(await operator({ controllers: [greeting], client, log: silentLogger }).start());
  });
  afterAll(() => stack.disposeAsync());

  test("becomes a pod, and its address when the pod is ready", async ({ skip }) => {
    if (missing) skip(missing);
    await client.kind(Greeting).create(Greeting.object({ metadata: here, spec: { message: "ahoy" } }));
    const pod = await until(client, Pod, here, says("ahoy"));
    expect(pod?.metadata.ownerReferences?.[0]).toMatchObject({
      kind: "Greeting",
      name: "hello",
      controller: true,
    });
    await play(pod, "10.0.0.7");
    const ready = await until(client, Greeting, here, isReady("True"));
    expect(ready?.status?.address).toBe("10.0.0.7:8080");
    expect(ready?.status?.observedGeneration).toBe(ready?.metadata.generation);
  });

  test("gets another pod when the message changes, since a pod's environment cannot", async ({ skip }) => {
    if (missing) skip(missing);
    const before = await client.kind(Pod).get(here);
    await client.kind(Greeting).patch(here, { type: "merge", body: { spec: { message: "farewell" } } });
    const pod = await until(client, Pod, here, says("farewell"));
    expect(pod?.metadata.uid).not.toBe(before.metadata.uid);
    const changed = await until(client, Greeting, here, (each) => each?.status?.observedGeneration === 2);
    // The new pod has no status yet, so the old one's readiness must not be reported for the new generation.
    expect(isReady("True")(changed)).toBe(false);
    await until(client, Greeting, here, isReady("False"));
    await play(pod, "10.0.0.8");
    await until(client, Greeting, here, isReady("True"));
  });

  test("gets its pod back when someone deletes it", async ({ skip }) => {
    if (missing) skip(missing);
    const before = await client.kind(Pod).get(here);
    await client.kind(Pod).delete(here, { gracePeriodSeconds: 0 });
    const pod = await until(
      client,
      Pod,
      here,
      (each) => each !== undefined && each.metadata.uid !== before.metadata.uid,
    );
    expect(says("farewell")(pod)).toBe(true);
  });

  test("refuses a message that its schema forbids", async ({ skip }) => {
    if (missing) skip(missing);
    const empty = Greeting.object({
      metadata: { namespace: "default", name: "mute" },
      spec: { message: "" },
    });
    await expect(client.kind(Greeting).create(empty)).rejects.toMatchObject({ reason: "Invalid" });
  });

  async function play(pod: ObjectOf<typeof Pod> | undefined, podIP: string): Promise<void> {
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    const body = { status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions } };
    await client.kind(Pod).subresource("status").patch(here, { type: "merge", body });
    expect(pod).toBeDefined();
  }
});

function says(message: string): (pod: ObjectOf<typeof Pod> | undefined) => boolean {
  return (pod) => pod?.spec?.containers[0]?.env?.[0]?.value === message && !pod.metadata.deletionTimestamp;
}

function isReady(status: string): (object: ObjectOf<typeof Greeting> | undefined) => boolean {
  return (object) =>
    Boolean(object?.status?.conditions?.some((each) => each.type === "Ready" && each.status === status));
}

function missingReference(): string | undefined {
  const found = locateKubernetes();
  return "missing" in found ? found.missing : undefined;
}

async function startEmbedded(stack: AsyncDisposableStack): Promise<Client> {
  const { apiServer } = await import("@keelson/apiserver");
  const api = stack.use(await apiServer());
  return createClient({ http: api.http });
}

async function startReference(stack: AsyncDisposableStack): Promise<Client> {
  const { startControlPlane } = await import("@keelson/reference/control-plane");
  const plane = stack.use(
    await startControlPlane({ flags: { "kube-apiserver": ["--disable-admission-plugins=ServiceAccount"] } }),
  );
  const client = await connect({ kubeconfig: plane.kubeconfig });
  stack.defer(() => client.close());
  return client;
}
