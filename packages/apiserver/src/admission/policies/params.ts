/** The parameters that a binding hands to its policy. */
import { labelSelectorFrom, matchesLabels, parseApiVersion } from "@keelson/core";
import type { ParamKind, ParamRef } from "@keelson/core/kinds";
import type { ApiObject } from "../../contracts/object.ts";
import type { PluginContext } from "../../contracts/plugin.ts";

/** Something about a binding is wrong, whatever the request. */
export class ConfigurationProblem extends Error {}
/** Something about the policy itself is. */
export class PolicyProblem extends ConfigurationProblem {}

/**
 * One evaluation for each: `undefined` where the policy takes no parameters. Throws a ConfigurationProblem.
 */
export async function paramsOf(
  kind: ParamKind | undefined,
  ref: ParamRef | undefined,
  namespace: string,
  { kinds, store, convert }: Pick<PluginContext, "kinds" | "store" | "convert">,
): Promise<readonly (ApiObject | undefined)[]> {
  if (!kind) return [undefined];
  const { group } = parseApiVersion(kind.apiVersion ?? "");
  const served = kinds(group, kind.kind ?? "");
  const version = parseApiVersion(kind.apiVersion ?? "").version;
  if (!served?.versions.includes(version))
    throw new PolicyProblem(
      `failed to find resource referenced by paramKind: '${group ? `${group}/` : "/"}${version}, Kind=${kind.kind}'`,
    );
  if (!ref) return [undefined];
  if (ref.namespace && !served.namespaced)
    throw new ConfigurationProblem(
      "paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
    );
  const within = served.namespaced ? ref.namespace || namespace : "";
  if (served.namespaced && within === "")
    throw new ConfigurationProblem(
      "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
    );
  const resource = { group, resource: served.resource };
  let found: readonly ApiObject[];
  if (ref.name) {
    const one = store.get(resource, within, ref.name);
    found = one ? [one] : [];
  } else if (ref.selector) {
    const selector = labelSelectorFrom(ref.selector);
    found = store
      .list(resource, within)
      .filter(({ metadata }) => matchesLabels(selector, metadata.labels ?? {}));
  } else throw new ConfigurationProblem("one of name or selector must be provided");
  if (found.length === 0 && ref.parameterNotFoundAction === "Deny")
    throw new ConfigurationProblem("no params found for policy binding with `Deny` parameterNotFoundAction");
  return Promise.all(found.map((one) => convert(one, kind.apiVersion as string)));
}
