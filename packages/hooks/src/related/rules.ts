/** Which objects a rule of a customize hook finds. Pure. */
import {
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorFrom,
  matchesLabels,
  type Stored,
} from "@keelson/core";
import type { RelatedRule } from "../call/answers.ts";
import { HookError } from "../errors.ts";

/** What a rule is looked at with. */
export interface RuleView {
  readonly version: "v1" | "v2";
  readonly parent: Stored;
  /** Whether objects of the rule's kind live in namespaces. */
  readonly namespaced: boolean;
  /** Labels of a namespace; undefined when there is none of that name. */
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined;
}

const everything: LabelSelector = { requirements: [] };

/** Throws for a rule that says two things at once, or that reaches where its parent may not look. */
export function checkRule(
  rule: RelatedRule,
  view: Pick<RuleView, "version" | "parent" | "namespaced">,
  what: string,
): void {
  const { labelSelector, namespaceSelector, namespace, names } = rule;
  const kind = `${what} asks for related ${rule.resource} of ${rule.apiVersion}`;
  if (names.length > 0 && (labelSelector || namespaceSelector)) {
    throw new HookError("BadAnswer", `${kind} both by names and by a selector`);
  }
  if (namespace !== undefined && namespaceSelector) {
    throw new HookError("BadAnswer", `${kind} both by namespace and by namespaceSelector`);
  }
  if (namespaceSelector && !view.namespaced) {
    throw new HookError("BadAnswer", `${kind} by namespaceSelector, and they have no namespace`);
  }
  const home = view.parent.metadata.namespace;
  if (view.version === "v2" || home === undefined || !view.namespaced) return;
  if (namespaceSelector) {
    throw new HookError(
      "BadAnswer",
      `${kind} by namespaceSelector, which a parent in a namespace has only in v2`,
    );
  }
  if (namespace !== undefined && namespace !== home) {
    throw new HookError(
      "BadAnswer",
      `${kind} in namespace ${namespace}, and its parent is in ${home}: other namespaces are seen only in v2`,
    );
  }
}

/** Whether a rule finds an object of its kind. */
export function matchesRule(rule: RelatedRule, object: Stored, view: RuleView): boolean {
  const { namespace, name, labels } = object.metadata;
  const home = view.parent.metadata.namespace;
  if (view.version === "v1" && home !== undefined && view.namespaced && namespace !== home) return false;
  if (view.namespaced && rule.namespace !== undefined && namespace !== rule.namespace) return false;
  if (rule.names.length > 0) return rule.names.includes(name);
  if (rule.namespaceSelector) {
    const theirs = view.namespaceLabels(namespace ?? "");
    if (!theirs || !matchesLabels(selectorOf(rule.namespaceSelector), theirs)) return false;
  }
  return matchesLabels(rule.labelSelector ? selectorOf(rule.labelSelector) : everything, labels);
}

function selectorOf(selector: object): LabelSelector {
  return labelSelectorFrom(selector as LabelSelectorObject);
}
