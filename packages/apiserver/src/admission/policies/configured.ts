/** The policies that are in force with their bindings, compiled when either changes. */
import type { ObjectMeta } from "@keelson/core";
import type { MatchResources, ParamKind, ParamRef } from "@keelson/core/kinds";
import type { AdmissionRequest } from "../../contracts/admission.ts";
import type { ApiObject } from "../../contracts/object.ts";
import type { PluginContext } from "../../contracts/plugin.ts";
import { StatusError } from "../../contracts/status-error.ts";
import type { VersionedObjects } from "../expressions.ts";
import { type Match, ResourceMatcher, requestNamespace } from "../matching.ts";
import { ConfigurationProblem, PolicyProblem, paramsOf } from "./params.ts";

interface PolicyObject {
  readonly metadata?: ObjectMeta;
  readonly spec?: { readonly matchConstraints?: MatchResources; readonly paramKind?: ParamKind };
}

interface BindingObject {
  readonly metadata?: ObjectMeta;
  readonly spec?: {
    readonly policyName?: string;
    readonly matchResources?: MatchResources;
    readonly paramRef?: ParamRef;
  };
}

interface Bound<B> {
  readonly name: string;
  readonly object: B;
  readonly matcher: ResourceMatcher | undefined;
}

export interface ConfiguredPolicy<P, B, E> {
  readonly name: string;
  readonly object: P;
  readonly matcher: ResourceMatcher;
  readonly bindings: readonly Bound<B>[];
  readonly evaluator: E;
}

/** One evaluation of a policy under one binding with one parameter. */
export interface PolicyInvocation<P, B, E> {
  readonly policy: ConfiguredPolicy<P, B, E>;
  readonly binding: Bound<B>;
  readonly match: Match;
  readonly params: ApiObject | undefined;
}

/** What is wrong with a policy or binding that would have been asked. */
export interface PolicyFault<P, B, E> {
  readonly policy: ConfiguredPolicy<P, B, E>;
  readonly binding: Bound<B> | undefined;
  readonly message: string;
}

const group = "admissionregistration.k8s.io";

export class ConfiguredPolicies<P extends PolicyObject, B extends BindingObject, E> {
  readonly #context: PluginContext;
  readonly #policies: { readonly group: string; readonly resource: string };
  readonly #bindings: { readonly group: string; readonly resource: string };
  readonly #compile: (policy: P) => E;
  #known: readonly ConfiguredPolicy<P, B, E>[] | undefined;

  constructor(context: PluginContext, resource: string, bindings: string, compile: (policy: P) => E) {
    this.#context = context;
    this.#policies = { group, resource };
    this.#bindings = { group, resource: bindings };
    this.#compile = compile;
    const forget = () => {
      this.#known = undefined;
    };
    context.store.subscribe(this.#policies, forget);
    context.store.subscribe(this.#bindings, forget);
  }

  /** Only those with bindings: a policy alone does nothing. */
  get list(): readonly ConfiguredPolicy<P, B, E>[] {
    this.#known ??= this.#load();
    return this.#known;
  }

  /** Everything that is to be evaluated for the request, and what cannot be. */
  async select(request: AdmissionRequest): Promise<{
    readonly invocations: readonly PolicyInvocation<P, B, E>[];
    readonly faults: readonly PolicyFault<P, B, E>[];
  }> {
    const invocations: PolicyInvocation<P, B, E>[] = [];
    const faults: PolicyFault<P, B, E>[] = [];
    for (const policy of this.list) {
      const match = policy.matcher.match(request);
      if (!match) continue;
      for (const binding of policy.bindings) {
        if (binding.matcher && !binding.matcher.match(request)) continue;
        try {
          const kind = policy.object.spec?.paramKind;
          const ref = binding.object.spec?.paramRef;
          for (const params of await paramsOf(kind, ref, requestNamespace(request), this.#context))
            invocations.push({ policy, binding, match, params });
        } catch (error) {
          if (!(error instanceof ConfigurationProblem) && !(error instanceof StatusError)) throw error;
          const whole = error instanceof PolicyProblem;
          faults.push({
            policy,
            binding: whole ? undefined : binding,
            message: `failed to configure ${whole ? "policy" : "binding"}: ${error.message}`,
          });
          if (whole) break;
        }
      }
    }
    return { invocations, faults };
  }

  #load(): readonly ConfiguredPolicy<P, B, E>[] {
    const { store } = this.#context;
    const bindings = new Map<string, Bound<B>[]>();
    for (const object of store.list(this.#bindings) as unknown as readonly B[]) {
      const { policyName = "", matchResources } = object.spec ?? {};
      const bound: Bound<B> = {
        name: object.metadata?.name ?? "",
        object,
        matcher: matchResources && new ResourceMatcher(matchResources, this.#context),
      };
      bindings.set(policyName, [...(bindings.get(policyName) ?? []), bound]);
    }
    return (store.list(this.#policies) as unknown as readonly P[]).flatMap((object) => {
      const name = object.metadata?.name ?? "";
      const own = bindings.get(name);
      if (!own) return [];
      const matcher = new ResourceMatcher(object.spec?.matchConstraints ?? {}, this.#context);
      return [{ name, object, matcher, bindings: own, evaluator: this.#compile(object) }];
    });
  }
}

/** The namespace that expressions see; there is none for a namespace itself. */
export function namespaceOf(request: AdmissionRequest, { store }: PluginContext): ApiObject | undefined {
  const { kind } = request;
  if (request.namespace === "" || (kind.kind === "Namespace" && kind.group === "")) return undefined;
  return store.get({ group: "", resource: "namespaces" }, "", request.namespace);
}

/** Objects in the version of each match, converted once. */
export class Versions {
  readonly #context: PluginContext;
  readonly #request: AdmissionRequest;
  readonly #known = new Map<string, VersionedObjects>();

  constructor(context: PluginContext, request: AdmissionRequest) {
    this.#context = context;
    this.#request = request;
  }

  async of({ kind }: Match): Promise<VersionedObjects> {
    const { object, oldObject } = this.#request;
    if (kind.version === this.#request.kind.version) return { object, oldObject };
    const known = this.#known.get(kind.version);
    if (known) return known;
    const apiVersion = kind.group ? `${kind.group}/${kind.version}` : kind.version;
    const convert = async (one: ApiObject | undefined) => one && this.#context.convert(one, apiVersion);
    const converted = { object: await convert(object), oldObject: await convert(oldObject) };
    this.#known.set(kind.version, converted);
    return converted;
  }
}
