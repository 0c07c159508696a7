/** Connects an operator to a cluster that has what its controllers need. */
import { type Client, ClientError, type ConnectOptions, connect } from "@keelson/client";
import { type AnyKind, apiVersionOf, groupKind } from "@keelson/core";
import { type AnyController, permissionsOf } from "../controller/permissions.ts";
import { RuntimeError } from "../errors.ts";

/** A client of a server that has what the controllers need. */
export async function reach(
  given: Client | undefined,
  settings: ConnectOptions,
  controllers: readonly AnyController[],
): Promise<Client> {
  const client = given ?? (await connect(settings));
  try {
    await refuseMissingKinds(client, controllers);
    return client;
  } catch (error) {
    if (!given) await client.close();
    throw error;
  }
}

/** A kind that the server does not serve is one clear sentence at the start, not an endless retry. */
export async function refuseMissingKinds(
  client: Client,
  controllers: readonly AnyController[],
): Promise<void> {
  const kinds = new Map<string, { kind: AnyKind; controller: string }>();
  for (const controller of controllers) {
    for (const { kind, subresource, verbs } of permissionsOf(controller)) {
      if (subresource === undefined && verbs.includes("watch")) {
        kinds.set(`${apiVersionOf(kind)}/${kind.kind}`, { kind, controller: controller.name });
      }
    }
  }
  for (const { kind, controller } of kinds.values()) {
    try {
      await client.discover(apiVersionOf(kind), kind.kind);
    } catch (error) {
      if (!(error instanceof ClientError && error.code === "KindUnknown")) throw error;
      const advice =
        "crd" in kind
          ? "install its CustomResourceDefinition first (keelson generate writes it)"
          : "install what provides it, or correct the version";
      throw new RuntimeError(
        "KindMissing",
        `controller "${controller}" needs ${groupKind(kind)} at ${apiVersionOf(kind)}, which the cluster does not ` +
          `serve; ${advice}`,
        { cause: error },
      );
    }
  }
}
