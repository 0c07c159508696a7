/** The recipe of a pod: the part of the spec whose changes roll through the members, and its digest. */
import { templateHash } from "@keelson/kit";
import type { Recipe, Spec, Template } from "../api/cluster.ts";

/** The recipe of TLS: a member that was started with other authorities must be restarted. */
export interface RecipeTls {
  readonly secret?: string;
  readonly trust: string;
}

export interface RecipeSources {
  readonly spec: Spec;
  readonly certificates?: { readonly peer?: RecipeTls; readonly client?: RecipeTls };
}

export function recipeOf({ spec, certificates = {} }: RecipeSources, version: string): Recipe {
  const { image, resources, pod, settings, storage } = spec;
  const { peer, client } = certificates;
  return {
    version,
    image,
    ...(storage.quotaBytes === undefined ? {} : { quotaBytes: storage.quotaBytes }),
    ...(resources === undefined ? {} : { resources }),
    ...(pod === undefined ? {} : { pod }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(peer || client
      ? { tls: { ...(peer && { peer: tlsOf(peer) }), ...(client && { client: tlsOf(client) }) } }
      : {}),
  };
}

function tlsOf({ secret, trust }: RecipeTls): RecipeTls {
  return { ...(secret === undefined ? {} : { secret }), trust };
}

/** The recipe of one use of TLS; undefined without TLS. */
export function recipeTls(recipe: Recipe, use: "peer" | "client"): RecipeTls | undefined {
  return (recipe.tls as { peer?: RecipeTls; client?: RecipeTls } | undefined)?.[use];
}

/**
 * The digest is of the recipe alone, never of what is made from it: a new release of the operator, or a webhook that
 * rewrites images, restarts no member.
 */
export function templateOf(recipe: Recipe): Template {
  return { hash: templateHash(recipe), recipe };
}
