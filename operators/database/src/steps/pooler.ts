/** PgBouncer when the spec asks for it, and its end when it no longer does. */
import type { DatabaseObject } from "../api/database.ts";
import { installCommand } from "../resources/agent-image.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { poolerDeployment, poolerServices, poolerUsers } from "../resources/pooler.ts";

export async function keepPooler(
  object: DatabaseObject,
  ctx: DatabaseContext,
  { agentImage, passwords }: { readonly agentImage: string; readonly passwords: ReadonlyMap<string, string> },
): Promise<void> {
  const { pooler } = object.spec;
  if (!pooler) {
    await ctx.own.pooler.delete();
    for (const slot of ["pooler", "poolers"])
      if (ctx.own.services.get(slot)) await ctx.own.services.delete(slot);
    if (ctx.own.secrets.get("pooler")) await ctx.own.secrets.delete("pooler");
    return;
  }
  const { clients, agents } = poolerServices(object);
  await ctx.own.services.apply("pooler", clients);
  await ctx.own.services.apply("poolers", agents);
  await ctx.own.secrets.apply("pooler", poolerUsers(object, passwords));
  // A new release of the operator brings a new agent, and that alone is no reason to cut clients off.
  const running = ctx.own.pooler
    .get()
    ?.spec?.template.spec?.initContainers?.find(({ name }) => name === "agent")?.image;
  const desired = poolerDeployment(object, pooler, { agentImage, installCommand });
  const isSame = digestAnnotation(ctx.own.pooler.get()) === digestAnnotation(desired);
  const image = isSame && running !== undefined ? running : agentImage;
  await ctx.own.pooler.apply(poolerDeployment(object, pooler, { agentImage: image, installCommand }));
}

function digestAnnotation(deployment: unknown): string {
  const { spec } = (deployment ?? {}) as {
    spec?: { template?: { metadata?: { annotations?: { [name: string]: string } } } };
  };
  return JSON.stringify(spec?.template?.metadata?.annotations ?? {});
}
