/** Whole control planes with a simulated node: the embedded one and the real one. A pass on one is none on the other. */

import { startApiServer } from "@keelson/apiserver";
import { type Client, connect, createClient } from "@keelson/client";
import { startControllers } from "@keelson/controllers";
import { locateKubernetes } from "@keelson/reference/locate";
import { startSimulatedNode } from "@keelson/testing";
import { silentLogger } from "keelson";

export interface ControlPlane extends AsyncDisposable {
  /** An administrator. */
  readonly client: Client;
  /** Someone with no rights but those that roles give to the name. */
  as(user: string): Client;
}

export interface ControlPlaneChoice {
  readonly name: string;
  /** Why it cannot run here. */
  readonly missing?: string;
  start(): Promise<ControlPlane>;
}

const reference = locateKubernetes();
const quick = { startMs: 50, stopMs: 20 };

export const controlPlanes: readonly ControlPlaneChoice[] = [
  { name: "the embedded control plane", start: embedded },
  { name: "Kubernetes", ...missingReal(), start: real },
];

function missingReal(): { missing?: string } {
  if ("missing" in reference) return { missing: reference.missing };
  const { controllerManager, scheduler, version } = reference;
  if (controllerManager && scheduler) return {};
  return { missing: `Kubernetes ${version} is there without its controllers or scheduler` };
}

async function embedded(): Promise<ControlPlane> {
  await using stack = new AsyncDisposableStack();
  const { api } = stack.use(await startApiServer({ port: 0 }));
  const client = createClient({ http: api.http });
  stack.use(await startControllers({ client, log: silentLogger }));
  stack.use(await startSimulatedNode({ client }, quick));
  const all = stack.move();
  return {
    client,
    as: (user) => createClient({ http: api.http, impersonate: { user } }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function real(): Promise<ControlPlane> {
  const { startControlPlane } = await import("@keelson/reference/control-plane");
  await using stack = new AsyncDisposableStack();
  const plane = stack.use(await startControlPlane({ controllers: true, scheduler: true }));
  const client = await connect({ kubeconfig: plane.kubeconfig });
  stack.defer(() => client.close());
  stack.use(await startSimulatedNode({ client }, quick));
  const all = stack.move();
  return {
    client,
    as: (user) => client.with({ impersonate: { user } }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
