/** Rules of the few built-in kinds that the server itself depends on. */
import type { JsonObject } from "@keelson/core";
import { validateDns1123Label, validateGenerateName } from "@keelson/core";
import type { Strategy } from "../hooks.ts";

const namespaceLabel = "kubernetes.io/metadata.name";

const namespaces: Strategy = {
  validateName: (name, prefix) =>
    prefix ? validateGenerateName(name, validateDns1123Label) : validateDns1123Label(name),
  default(draft) {
    const { name, labels } = draft.metadata;
    if (name && labels?.[namespaceLabel] !== name)
      draft.metadata.labels = { ...labels, [namespaceLabel]: name };
  },
  prepareForCreate(draft) {
    // A generated name is known only now.
    draft.metadata.labels = { ...draft.metadata.labels, [namespaceLabel]: draft.metadata.name };
    const spec = (draft.spec ?? {}) as JsonObject;
    const finalizers = (spec.finalizers as string[] | undefined) ?? [];
    if (!finalizers.includes("kubernetes"))
      draft.spec = { ...spec, finalizers: [...finalizers, "kubernetes"] };
    draft.status = { phase: "Active" };
  },
  prepareForUpdate(draft, old) {
    const { finalizers } = (old.spec ?? {}) as JsonObject;
    draft.spec = { ...(draft.spec as JsonObject), ...(finalizers !== undefined && { finalizers }) };
  },
};

const pods: Strategy = {
  /** A pod that runs nowhere, or is finished, needs no grace. */
  gracePeriod(pod, requested) {
    const spec = (pod.spec ?? {}) as JsonObject;
    const phase = (pod.status as JsonObject | undefined)?.phase;
    if (!spec.nodeName || phase === "Failed" || phase === "Succeeded") return 0;
    const period = requested ?? Number(spec.terminationGracePeriodSeconds ?? 30);
    return period < 0 ? 1 : period;
  },
};

const builtin: Readonly<Record<string, Strategy>> = { "/namespaces": namespaces, "/pods": pods };

export function builtinStrategy(group: string, resource: string): Strategy | undefined {
  return builtin[`${group}/${resource}`];
}
