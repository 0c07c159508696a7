/** Rules of the few built-in kinds that the server itself depends on. */

import type { JsonObject } from "@keelson/core";
import { validateDns1123Label } from "@keelson/core";
import { lookupTable, validateGenerateName } from "@keelson/core/internal";
import type { ApiObject } from "../contracts/object.ts";
import type { Strategy } from "../contracts/strategy.ts";

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
    const { name, labels } = draft.metadata;
    if (name) draft.metadata.labels = { ...labels, [namespaceLabel]: name };
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
  subresources: {
    finalize: {
      prepareForUpdate(draft, old) {
        if (old.status === undefined) delete draft.status;
        else draft.status = old.status;
      },
    },
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
  subresources: {
    status: {
      prepareForUpdate(draft, old) {
        const { ownerReferences } = old.metadata;
        if (ownerReferences === undefined) delete draft.metadata.ownerReferences;
        else draft.metadata.ownerReferences = ownerReferences;
        delete draft.metadata.deletionTimestamp;
      },
    },
    ephemeralcontainers: {
      prepareForUpdate(draft, old) {
        const { ephemeralContainers } = (draft.spec ?? {}) as JsonObject;
        keep(draft, old, ["spec", "status"]);
        if (ephemeralContainers !== undefined)
          draft.spec = { ...(old.spec as JsonObject), ephemeralContainers };
      },
    },
    resize: {
      prepareForUpdate(draft, old) {
        const spec = (draft.spec ?? {}) as JsonObject;
        const before = (old.spec ?? {}) as JsonObject;
        keep(draft, old, ["spec", "status"]);
        draft.spec = {
          ...before,
          ...resized(before, spec, "containers"),
          ...resized(before, spec, "initContainers"),
        };
      },
    },
  },
};

/** Takes the fields from the old object, whatever the draft has. */
function keep(draft: ApiObject, old: ApiObject, fields: readonly string[]): void {
  for (const field of fields) {
    const value = old[field];
    if (value === undefined) delete draft[field];
    else draft[field] = value;
  }
}

/** The old containers with the resources that the new ones of the same name ask for. */
function resized(before: JsonObject, after: JsonObject, field: string): JsonObject {
  const old = before[field] as JsonObject[] | undefined;
  if (!old) return {};
  const wanted = new Map(((after[field] as JsonObject[] | undefined) ?? []).map((item) => [item.name, item]));
  return {
    [field]: old.map((container) => {
      const next = wanted.get(container.name);
      if (!next) return container;
      return {
        ...container,
        ...(next.resources !== undefined && { resources: next.resources }),
        ...(next.resizePolicy !== undefined && { resizePolicy: next.resizePolicy }),
      };
    }),
  };
}

const deployments: Strategy = {
  subresources: {
    status: {
      prepareForUpdate(draft, old) {
        if (old.metadata.labels === undefined) delete draft.metadata.labels;
        else draft.metadata.labels = old.metadata.labels;
      },
    },
  },
};

const certificateRequests: Strategy = {
  subresources: {
    approval: {
      prepareForUpdate(draft, old) {
        const { conditions } = (draft.status ?? {}) as JsonObject;
        keep(draft, old, ["spec", "status"]);
        draft.status = {
          ...(old.status as JsonObject | undefined),
          ...(conditions !== undefined && { conditions }),
        };
      },
    },
  },
};

const builtin: Readonly<Record<string, Strategy>> = lookupTable({
  "/namespaces": namespaces,
  "/pods": pods,
  "apps/deployments": deployments,
  "certificates.k8s.io/certificatesigningrequests": certificateRequests,
});

export function builtinStrategy(group: string, resource: string): Strategy | undefined {
  return builtin[`${group}/${resource}`];
}
