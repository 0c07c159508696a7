/** Runs the admission plug-ins around a write. */
import { canonicalJson, deepCopy, type JsonObject } from "@keelson/core";
import type { AdmissionPlugin, AdmissionRequest, Operation } from "../contracts/admission.ts";
import type { UserInfo } from "../contracts/authentication.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { ServerRequest } from "../messages/message.ts";
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
    const request = new Request(exchange, input);
    const pending = this.#run("admit", request, 0);
    return pending ? pending.then(() => request.object) : request.object;
  }

  validate(exchange: Exchange, input: AdmissionInput): Promise<void> | undefined {
    return this.#run("validate", new Request(exchange, input), 0);
  }

  /** Waits only when a plug-in does, and most answer at once. */
  #run(phase: "admit" | "validate", request: AdmissionRequest, from: number): Promise<void> | undefined {
    for (let i = from; i < this.#plugins.length; i++) {
      const pending = this.#plugins[i]?.[phase]?.(request);
      if (pending) return this.#goOn(pending, phase, request, i + 1);
    }
    return undefined;
  }

  /** Apart from the loop, each of whose turns would be kept for the closure. */
  #goOn(
    pending: Promise<void>,
    phase: "admit" | "validate",
    request: AdmissionRequest,
    next: number,
  ): Promise<void> {
    return pending.then(() => this.#run(phase, request, next));
  }
}

class Request implements AdmissionRequest {
  readonly operation: Operation;
  readonly kind: AdmissionRequest["kind"];
  readonly resource: AdmissionRequest["resource"];
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly options: JsonObject | undefined;
  object: ApiObject | undefined;
  readonly oldObject: ApiObject | undefined;
  readonly warn: (text: string) => void;
  readonly #request: ServerRequest;

  constructor({ info, resource, version, user, warnings, request }: Exchange, input: AdmissionInput) {
    this.operation = input.operation;
    this.kind = input.kind ?? { group: resource.group, version: version.name, kind: resource.kind };
    this.resource = { group: resource.group, version: version.name, resource: resource.resource };
    this.subresource = info.subresource;
    this.namespace = info.namespace;
    this.name = input.name ?? info.name;
    this.user = user;
    this.dryRun = input.dryRun;
    this.options = input.options;
    this.object = input.object;
    this.oldObject = input.oldObject;
    this.warn = (text) => warnings.add(text);
    this.#request = request;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }
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
