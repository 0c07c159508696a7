/** Runs the admission plug-ins around a write. */
import { canonicalJson, deepCopy, type JsonObject } from "@keelson/core";
import type { AdmissionPlugin, AdmissionRequest, ApiObject, Operation } from "../hooks.ts";
import type { Exchange } from "./exchange.ts";

export interface AdmissionInput {
  readonly operation: Operation;
  readonly dryRun: boolean;
  readonly options: JsonObject | undefined;
  readonly object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
  readonly name?: string;
  /** Kind of the object when it is not the resource's own: a Scale, a Binding. */
  readonly kind?: { group: string; version: string; kind: string };
}

export class Admission {
  readonly #plugins: readonly AdmissionPlugin[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  /** The object as the mutating phase leaves it. */
  admit(exchange: Exchange, input: AdmissionInput): ApiObject | undefined | Promise<ApiObject | undefined> {
    const request = admissionRequest(exchange, input);
    const pending = this.#run("admit", request, 0);
    return pending ? pending.then(() => request.object) : request.object;
  }

  validate(exchange: Exchange, input: AdmissionInput): Promise<void> | undefined {
    return this.#run("validate", admissionRequest(exchange, input), 0);
  }

  /** Waits only when a plug-in does, and most answer at once. */
  #run(phase: "admit" | "validate", request: AdmissionRequest, from: number): Promise<void> | undefined {
    for (let i = from; i < this.#plugins.length; i++) {
      const pending = this.#plugins[i]?.[phase]?.(request);
      if (pending) return pending.then(() => this.#run(phase, request, i + 1));
    }
    return undefined;
  }
}

function admissionRequest(exchange: Exchange, input: AdmissionInput): AdmissionRequest {
  const { info, resource, version, user, warnings, request } = exchange;
  return {
    operation: input.operation,
    kind: input.kind ?? { group: resource.group, version: version.name, kind: resource.kind },
    resource: { group: resource.group, version: version.name, resource: resource.resource },
    subresource: info.subresource,
    namespace: info.namespace,
    name: input.name ?? info.name,
    user,
    dryRun: input.dryRun,
    options: input.options,
    object: input.object,
    oldObject: input.oldObject,
    warn: (text) => warnings.add(text),
    get signal() {
      return request.signal;
    },
  };
}

/** Equal owner references are one reference; the client is told. */
export function dedupeOwners(exchange: Exchange, draft: ApiObject, afterAdmission: boolean): void {
  const owners = draft.metadata.ownerReferences as JsonObject[] | undefined;
  if (!owners || owners.length < 2) return;
  const seen = new Set<string>();
  const twice = new Set<string>();
  const kept = owners.filter((owner) => {
    const text = canonicalJson(owner);
    if (seen.has(text)) {
      twice.add(String(owner.uid));
      return false;
    }
    seen.add(text);
    return true;
  });
  if (twice.size === 0) return;
  draft.metadata.ownerReferences = deepCopy(kept);
  const when = afterAdmission ? " after mutating admission happens" : "";
  exchange.warnings.add(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...twice].join(",")}`,
  );
}
