/** Children that kro made for an instance and that nobody has taken over: they are to go with the others. */
import type { AnyKind, Stored } from "@keelson/core";
import { type Context, controllerLabel } from "@keelson/runtime";
import { applySetId, partOfLabel, versionLabel, versionValue, waveOf } from "./marks.ts";

/** Put by kro on an instance, with the id of everything that belongs to it. */
const parentLabel = "applyset.kubernetes.io/id";

/** Whether kro has kept the instance, and we have not been through all of it yet. */
export function isInherited({ metadata }: Stored): boolean {
  return metadata.labels?.[parentLabel] !== undefined && metadata.labels[versionLabel] !== versionValue;
}

/** A child without our labels. */
export interface InheritedChild {
  readonly kind: AnyKind;
  readonly object: Stored;
  readonly wave: number;
}

/** Asks the server: caches hold only what bears our labels. */
export async function inheritedChildren(
  kind: AnyKind,
  kinds: readonly AnyKind[],
  instance: Stored,
  ctx: Pick<Context, "client">,
): Promise<InheritedChild[]> {
  const labels = `${partOfLabel}=${applySetId(kind, instance)},!${controllerLabel}`;
  const found: InheritedChild[] = [];
  for (const each of kinds) {
    const verbs = ctx.client.kind(each as never) as unknown as {
      list(options: object): Promise<{ items: readonly Stored[] }>;
    };
    const { items } = await verbs.list({ labels });
    found.push(...items.map((object) => ({ kind: each, object, wave: waveOf(object) })));
  }
  return found;
}

/** Deletes those of the highest wave that are not being deleted, and says how many there are. */
export async function deleteInherited(
  children: readonly InheritedChild[],
  ctx: Pick<Context, "client">,
): Promise<number> {
  const highest = Math.max(...children.map(({ wave }) => wave));
  for (const { kind, object, wave } of children) {
    const { namespace, name, uid, deletionTimestamp } = object.metadata;
    if (wave !== highest || deletionTimestamp !== undefined) continue;
    const verbs = ctx.client.kind(kind as never) as unknown as {
      delete(ref: object, options: object): Promise<void>;
    };
    await verbs.delete({ namespace, name }, { uid });
  }
  return children.length;
}
