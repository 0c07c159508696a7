/** Objects that a parent's customize hook asks to be told about: found, followed, and led back to their parents. */
import {
  type AnyKind,
  apiVersionOf,
  groupKind,
  type JsonObject,
  objectKey,
  type Stored,
} from "@keelson/core";
import { Namespace } from "@keelson/core/kinds";
import type { CacheReader, Change, RawContext } from "@keelson/runtime/internal";
import { customizeAnswer, type RelatedRule } from "../call/answers.ts";
import type { CallScope, HookClient } from "../call/hook-client.ts";
import { ObjectMap } from "../children/object-map.ts";
import { checkRule, matchesRule, type RuleView } from "./rules.ts";

/** A rule whose kind is known. */
interface ResolvedRule {
  readonly rule: RelatedRule;
  readonly kind: AnyKind;
}

/** What the hook said of one parent. */
interface Known {
  readonly uid: string;
  readonly generation: number | undefined;
  readonly parent: Stored;
  readonly rules: readonly ResolvedRule[];
  readonly untilMs: number;
}

/** The hook is asked again after this long, though the parent's generation is the same. */
const rememberedMs = 20 * 60_000;
const namespacesWatch = "related/namespaces";

/** Without a customize hook nothing is related. */
export class RelatedObjects {
  readonly #hook: HookClient | undefined;
  readonly #definition: JsonObject;
  readonly #known = new Map<string, Known>();

  constructor(hook: HookClient | undefined, definition: JsonObject) {
    this.#hook = hook;
    this.#definition = definition;
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  async of(ctx: RawContext, parent: Stored, scope: CallScope): Promise<ObjectMap> {
    const found = new ObjectMap();
    const hook = this.#hook;
    if (!hook) return found;
    const rules = await this.#rules(ctx, hook, parent, scope);
    const needsNamespaces = rules.some(({ rule }) => rule.namespaceSelector);
    const namespaces = needsNamespaces ? await this.#follow(ctx, namespacesWatch, Namespace) : undefined;
    for (const { rule, kind } of rules) {
      const cache = await this.#follow(ctx, watchOf(kind), kind);
      found.addKind(kind);
      const view = viewOf(hook, parent, kind, namespaces);
      const only = rule.namespace ?? (hook.version === "v1" ? parent.metadata.namespace : undefined);
      for (const object of cache.list(kind.scope === "Namespaced" ? only : undefined)) {
        if (matchesRule(rule, object, view)) found.add(kind, object);
      }
    }
    return found;
  }

  async #rules(
    ctx: RawContext,
    hook: HookClient,
    parent: Stored,
    scope: CallScope,
  ): Promise<readonly ResolvedRule[]> {
    const key = objectKey(parent);
    const { uid, generation } = parent.metadata;
    const known = this.#known.get(key);
    const now = ctx.clock.monotonic();
    if (known && known.uid === uid && known.generation === generation && known.untilMs > now)
      return known.rules;
    const request = { controller: this.#definition, parent: parent as unknown as JsonObject };
    const answer = customizeAnswer(await hook.call(request, `customize ${key}`, scope), hook);
    const rules: ResolvedRule[] = [];
    for (const rule of answer) {
      const kind = await ctx.server.discover(rule.apiVersion, rule.resource);
      checkRule(rule, { version: hook.version, parent, namespaced: kind.scope === "Namespaced" }, hook.what);
      rules.push({ rule, kind });
    }
    this.#known.set(key, { uid, generation, parent, rules, untilMs: now + rememberedMs });
    return rules;
  }

  async #follow(ctx: RawContext, name: string, kind: AnyKind): Promise<CacheReader<Stored>> {
    const cache = await ctx.follow(name, kind, { keys: (change) => this.#parents(kind, change as Change) });
    return cache as unknown as CacheReader<Stored>;
  }

  /** Parents that wanted to know of the object as it was, or as it is. */
  *#parents(kind: AnyKind, { object, previous }: Change): Iterable<string> {
    const hook = this.#hook as HookClient;
    for (const [key, { parent, rules }] of this.#known) {
      const isOne = rules.some(({ rule, kind: wanted }) => {
        // A namespace whose labels change may bring objects in, or take them away.
        if (kind === Namespace && rule.namespaceSelector) return true;
        if (groupKind(wanted) !== groupKind(kind)) return false;
        const view = viewOf(hook, parent, wanted, undefined);
        const { namespaceSelector: _, ...loose } = rule;
        return [object, previous].some((each) => each && matchesRule(loose, each, view));
      });
      if (isOne) yield key;
    }
  }
}

function watchOf(kind: AnyKind): string {
  return `related/${apiVersionOf(kind)}/${kind.resource}`;
}

function viewOf(
  hook: HookClient,
  parent: Stored,
  kind: AnyKind,
  namespaces: CacheReader<Stored> | undefined,
): RuleView {
  return {
    version: hook.version,
    parent,
    namespaced: kind.scope === "Namespaced",
    namespaceLabels: (name) => {
      const found = namespaces?.get(name);
      return found && (found.metadata.labels ?? {});
    },
  };
}
