/** Who is bound to which role: an index of bindings by subject, kept up to date. */
import type { ClusterRole, ClusterRoleBinding, PolicyRule, RoleBinding, Subject } from "@keelson/core/kinds";
import type { UserInfo } from "../contracts/authentication.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { StoreReader } from "../contracts/store.ts";

type Binding = RoleBinding | ClusterRoleBinding;

const group = "rbac.authorization.k8s.io";
export const roles = { group, resource: "roles" };
export const clusterRoles = { group, resource: "clusterroles" };
export const roleBindings = { group, resource: "rolebindings" };
export const clusterRoleBindings = { group, resource: "clusterrolebindings" };

export interface Grant {
  readonly binding: Binding;
  readonly subject: Subject;
  /** Absent when the role does not exist. */
  readonly rules: readonly PolicyRule[] | undefined;
}

/** What an object may be: its rules may be null, as the API writes an empty list. */
export function rulesOf(role: ApiObject | undefined): readonly PolicyRule[] | undefined {
  return role && ((role as unknown as ClusterRole).rules ?? []);
}

export class Bindings {
  readonly #store: StoreReader;
  /** Bindings by `namespace|subject`; the namespace is empty for cluster-wide ones. */
  #index: Map<string, Map<string, Binding>> | undefined;

  constructor(store: StoreReader) {
    this.#store = store;
    for (const resource of [roleBindings, clusterRoleBindings])
      store.subscribe(resource, ({ object, previous }) => {
        // The index is built when it is first asked for, from what is stored then.
        if (!this.#index) return;
        if (previous) this.#remove(this.#index, previous as unknown as Binding);
        if (object) this.#add(this.#index, object as unknown as Binding);
      });
  }

  /** Grants to the user: cluster-wide ones, then those in the namespace if one is named. */
  *grants(user: UserInfo, namespace: string): Generator<Grant> {
    for (const binding of this.#bindings("", user)) yield this.#grant(binding, user, "");
    if (namespace)
      for (const binding of this.#bindings(namespace, user)) yield this.#grant(binding, user, namespace);
  }

  /** The rules of a role that a binding in `namespace` refers to. */
  referenced(ref: { kind: string; name: string }, namespace: string): readonly PolicyRule[] | undefined {
    return rulesOf(
      ref.kind === "Role"
        ? this.#store.get(roles, namespace, ref.name)
        : this.#store.get(clusterRoles, "", ref.name),
    );
  }

  #grant(binding: Binding, user: UserInfo, namespace: string): Grant {
    const keys = new Set(keysOfUser(user));
    const subject = binding.subjects?.find((candidate) => keys.has(keyOfSubject(candidate, namespace) ?? ""));
    return { binding, subject: subject as Subject, rules: this.referenced(binding.roleRef, namespace) };
  }

  /** Each once, in the order of their names. */
  #bindings(namespace: string, user: UserInfo): Iterable<Binding> {
    const index = this.#built();
    const found = new Map<string, Binding>();
    for (const key of keysOfUser(user)) {
      const bindings = index.get(`${namespace}|${key}`);
      if (bindings) for (const [name, binding] of bindings) found.set(name, binding);
    }
    return found.size < 2
      ? found.values()
      : [...found.keys()].sort().map((name) => found.get(name) as Binding);
  }

  #built(): Map<string, Map<string, Binding>> {
    if (!this.#index) {
      this.#index = new Map();
      for (const resource of [roleBindings, clusterRoleBindings])
        for (const binding of this.#store.list(resource))
          this.#add(this.#index, binding as unknown as Binding);
    }
    return this.#index;
  }

  #add(index: Map<string, Map<string, Binding>>, binding: Binding): void {
    for (const key of keysOfBinding(binding)) {
      let named = index.get(key);
      if (!named) {
        named = new Map();
        index.set(key, named);
      }
      named.set(binding.metadata?.name ?? "", binding);
    }
  }

  #remove(index: Map<string, Map<string, Binding>>, binding: Binding): void {
    for (const key of keysOfBinding(binding)) {
      const named = index.get(key);
      named?.delete(binding.metadata?.name ?? "");
      if (named?.size === 0) index.delete(key);
    }
  }
}

function* keysOfBinding(binding: Binding): Generator<string> {
  const namespace = binding.metadata?.namespace ?? "";
  for (const subject of binding.subjects ?? []) {
    const key = keyOfSubject(subject, namespace);
    if (key !== undefined) yield `${namespace}|${key}`;
  }
}

function keyOfSubject(subject: Subject, namespace: string): string | undefined {
  switch (subject.kind) {
    case "User":
      return `u:${subject.name}`;
    case "Group":
      return `g:${subject.name}`;
    case "ServiceAccount": {
      const within = subject.namespace || namespace;
      return within ? `u:system:serviceaccount:${within}:${subject.name}` : undefined;
    }
    default:
      return undefined;
  }
}

function* keysOfUser({ name, groups }: UserInfo): Generator<string> {
  yield `u:${name}`;
  for (const entry of groups) yield `g:${entry}`;
}
