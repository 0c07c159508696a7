/** The API servers that the integration suite runs on. A pass on one does not count for the other. */
import { type Client, connect, createClient } from "@keelson/client";
import { apiServer } from "@keelson/cluster/apiserver";
import { CustomResourceDefinition } from "@keelson/core/kinds";
import { startControlPlane } from "@keelson/reference/control-plane";
import { locateKubernetes } from "@keelson/reference/locate";
import type { CustomResourceDefinitionObject } from "@keelson/schema";

export interface ApiServerUnderTest extends AsyncDisposable {
  readonly client: Client;
  /** Present when another process or thread can connect too. */
  readonly kubeconfig?: string;
}

export interface ServerChoice {
  readonly name: string;
  /** Why it cannot run here. */
  readonly missing?: string;
  start(): Promise<ApiServerUnderTest>;
}

const reference = locateKubernetes();

export const servers: readonly ServerChoice[] = [
  {
    name: "the embedded API server",
    start: async () => {
      const server = await apiServer();
      const client = createClient({ http: server.http, fieldManager: "test" });
      return { client, [Symbol.asyncDispose]: () => server.close() };
    },
  },
  {
    name: "kube-apiserver",
    ...("missing" in reference ? { missing: reference.missing } : {}),
    start: async () => {
      const controlPlane = await startControlPlane();
      const client = await connect({ kubeconfig: controlPlane.kubeconfig, fieldManager: "test" });
      return {
        client,
        kubeconfig: controlPlane.kubeconfig,
        [Symbol.asyncDispose]: async () => {
          await client.close();
          await controlPlane[Symbol.asyncDispose]();
        },
      };
    },
  },
];

/** Installs a resource and waits until the server serves it. */
export async function install(
  client: Client,
  resource: { crd(): CustomResourceDefinitionObject; kind: string; group: string },
): Promise<void> {
  const crd = resource.crd();
  await client.kind(CustomResourceDefinition).create(crd as never);
  const version = crd.spec.versions[0]?.name ?? "";
  const path = `/apis/${crd.spec.group}/${version}/${crd.spec.names.plural}`;
  await eventually(async () => {
    await client.raw({ path, timeoutMs: 2_000 });
  });
}

/** Tries until it does not throw; the last error is thrown after ten seconds. */
export async function eventually<T>(work: () => Promise<T> | T, timeoutMs = 10_000): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
