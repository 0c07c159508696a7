/** Who knows the kinds that definitions name: a cluster, or an API server of this process for those of Kubernetes. */
import { type Client, connect, createClient } from "@keelson/client";
import { chooseTarget } from "../kubeconfig/target.ts";
import { checkAnswers } from "../run/preflight.ts";

export interface KnownKinds extends AsyncDisposable {
  readonly client: Client;
}

/** Without a context or a kubeconfig no cluster is asked. */
export async function kindsOf(choice: {
  readonly context?: string;
  readonly kubeconfig?: string;
}): Promise<KnownKinds> {
  if (choice.context === undefined && choice.kubeconfig === undefined) {
    const { apiServer } = await import("@keelson/apiserver");
    const server = await apiServer();
    return { client: createClient({ http: server.http }), [Symbol.asyncDispose]: () => server.close() };
  }
  const target = await chooseTarget(choice);
  const settings = choice.kubeconfig === undefined ? {} : { kubeconfig: choice.kubeconfig };
  const client = await connect({ context: target.context, ...settings });
  const end = async () => await client.close();
  try {
    await checkAnswers(client, target);
  } catch (error) {
    await end();
    throw error;
  }
  return { client, [Symbol.asyncDispose]: end };
}
