/** Connects an operator to a cluster that has what its controllers need. */
import { type Client, ClientError, type ConnectOptions, connect, isForbidden } from "@keelson/client";
import { type AnyKind, apiVersionOf, groupKind } from "@keelson/core";
import { type AnyController, permissionsOf } from "../controller/permissions.ts";
import { RuntimeError } from "../errors.ts";
import { CustomResourceDefinition } from "./install.ts";

/** How long a server may take to serve a definition that it has. */
const servedWithinMs = 10_000;
const lookAgainMs = 100;

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
  for (const { kind, controller } of kinds.values()) await requireServed(client, kind, controller);
}

/** A server tells its clients of a kind a moment after it has called the definition established. */
async function requireServed(client: Client, kind: AnyKind, controller: string): Promise<void> {
  const { clock } = client;
  const startedAt = clock.monotonic();
  for (;;) {
    try {
      await client.discover(apiVersionOf(kind), kind.kind);
      return;
    } catch (error) {
      if (!(error instanceof ClientError && error.code === "KindUnknown")) throw error;
      const waits = clock.monotonic() - startedAt < servedWithinMs && (await mayBeDefined(client, kind));
      if (!waits) throw missing(kind, controller, error);
    }
    await new Promise<void>((resolve) => {
      clock.timer(lookAgainMs, resolve);
    });
  }
}

/** Whether the server has the kind's definition, or does not let us see. */
async function mayBeDefined(client: Client, kind: AnyKind): Promise<boolean> {
  const name = `${kind.resource}.${kind.group}`;
  try {
    return (await client.kind(CustomResourceDefinition).find({ name })) !== undefined;
  } catch (error) {
    if (isForbidden(error)) return true;
    throw error;
  }
}

function missing(kind: AnyKind, controller: string, cause: ClientError): RuntimeError {
  const advice =
    "crd" in kind
      ? "install its CustomResourceDefinition first (keelson generate writes it)"
      : "install what provides it, or correct the version";
  return new RuntimeError(
    "KindMissing",
    `controller "${controller}" needs ${groupKind(kind)} at ${apiVersionOf(kind)}, which the cluster does not ` +
      `serve; ${advice}`,
    { cause },
  );
}
