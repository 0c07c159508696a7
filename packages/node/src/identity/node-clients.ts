/** How nodes talk to the API server: each as itself, or all of them as the user of one kubeconfig. */
import { type Client, type ConnectOptions, connect } from "@keelson/client";
import { systemClock, systemRandom } from "@keelson/core";
import { ClosingStack } from "@keelson/machine";
import { NodeIdentity } from "./node-identity.ts";

export interface NodeClientsOptions {
  readonly kubeconfig: NonNullable<ConnectOptions["kubeconfig"]>;
  /** Whether the kubeconfig is only for asking for certificates. */
  readonly bootstrap: boolean;
  readonly nodes: readonly { readonly name: string; readonly identityDirectory: string }[];
  readonly log: (message: string) => void;
}

export interface NodeClients extends AsyncDisposable {
  of(nodeName: string): Client;
}

const userAgent = "kubelet/v1.36.4 keelson";

/** Resolves when every node has an identity. */
export async function connectNodes(options: NodeClientsOptions): Promise<NodeClients> {
  const { kubeconfig, bootstrap, nodes, log } = options;
  if (!bootstrap) {
    const client = await connect({ kubeconfig, userAgent });
    return { of: () => client, [Symbol.asyncDispose]: () => client.close() };
  }
  const stack = new ClosingStack();
  const clients = new Map<string, Client>();
  const opened = await Promise.allSettled(
    nodes.map(async ({ name, identityDirectory }) => {
      const identity = await NodeIdentity.open({
        nodeName: name,
        directory: identityDirectory,
        join: () => connect({ kubeconfig, userAgent }),
        connect: (credentials) => connect({ kubeconfig, userAgent, credentials }),
        clock: systemClock,
        random: systemRandom,
        log,
      });
      clients.set(name, stack.use(identity).client);
    }),
  );
  const failed = opened.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") {
    await stack[Symbol.asyncDispose]();
    throw failed.reason;
  }
  return {
    of: (name) => {
      const client = clients.get(name);
      if (client === undefined) throw new RangeError(`node ${name} has no identity`);
      return client;
    },
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}
