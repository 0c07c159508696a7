/** RBAC rules: what they match, and whether some cover others. */
import { compareBytes } from "@keelson/core/internal";
import type { PolicyRule } from "@keelson/core/kinds";
import type { Attributes } from "../contracts/authorization.ts";

const all = "*";

function has(list: readonly string[] | undefined | null, wanted: string): boolean {
  return list?.includes(wanted) ?? false;
}

function hasOrAll(list: readonly string[] | undefined | null, wanted: string): boolean {
  return list?.some((item) => item === all || item === wanted) ?? false;
}

export function allows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false;
  if (!attributes.resourceRequest) return matchesPath(rule, attributes.path);
  if (!hasOrAll(rule.apiGroups, attributes.group)) return false;
  if (!matchesResource(rule, attributes)) return false;
  return !rule.resourceNames?.length || has(rule.resourceNames, attributes.name);
}

function matchesResource(rule: PolicyRule, { resource, subresource }: Attributes): boolean {
  const combined = subresource ? `${resource}/${subresource}` : resource;
  return (
    rule.resources?.some(
      (item) => item === all || item === combined || (subresource !== "" && item === `*/${subresource}`),
    ) ?? false
  );
}

function matchesPath(rule: PolicyRule, path: string): boolean {
  return rule.nonResourceURLs?.some((url) => urlCovers(url, path)) ?? false;
}

function urlCovers(owner: string, path: string): boolean {
  if (owner === path) return true;
  let end = owner.length;
  while (owner[end - 1] === all) end--;
  return end < owner.length && path.startsWith(owner.slice(0, end));
}

/** The parts of `wanted` that none of `owned` grants, each with one group, resource and verb. */
export function uncovered(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(split).filter((part) => !owned.some((rule) => covers(rule, part)));
}

function split(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  const { verbs } = rule;
  for (const group of rule.apiGroups ?? [])
    for (const resource of rule.resources ?? [])
      for (const verb of verbs ?? []) {
        const part = { apiGroups: [group], resources: [resource], verbs: [verb] };
        if (!rule.resourceNames?.length) parts.push(part);
        else for (const name of rule.resourceNames) parts.push({ ...part, resourceNames: [name] });
      }
  for (const url of rule.nonResourceURLs ?? [])
    for (const verb of verbs ?? []) parts.push({ nonResourceURLs: [url], verbs: [verb] });
  return parts;
}

/** `part` is one of `split`. */
function covers(owner: PolicyRule, part: PolicyRule): boolean {
  if (!hasOrAll(owner.verbs, part.verbs?.[0] ?? "")) return false;
  const url = part.nonResourceURLs?.[0];
  if (url !== undefined) return owner.nonResourceURLs?.some((own) => urlCovers(own, url)) ?? false;
  if (!hasOrAll(owner.apiGroups, part.apiGroups?.[0] ?? "")) return false;
  const resource = part.resources?.[0] ?? "";
  const slash = resource.indexOf("/");
  const resourceCovered =
    hasOrAll(owner.resources, resource) ||
    (slash >= 0 && has(owner.resources, `*/${resource.slice(slash + 1)}`));
  if (!resourceCovered) return false;
  const name = part.resourceNames?.[0];
  return !owner.resourceNames?.length || (name !== undefined && has(owner.resourceNames, name));
}

/** Parts that differ only in their verb, put together again. */
function compact(parts: readonly PolicyRule[]): PolicyRule[] {
  const together = new Map<string, PolicyRule>();
  const others: PolicyRule[] = [];
  for (const part of parts) {
    if (part.nonResourceURLs) {
      others.push(part);
      continue;
    }
    const key = JSON.stringify([part.apiGroups, part.resources, part.resourceNames]);
    const known = together.get(key);
    if (known) known.verbs?.push(...(part.verbs ?? []));
    else together.set(key, { ...part, verbs: [...(part.verbs ?? [])] });
  }
  return [...others, ...together.values()];
}

/** One line for each rule, in the words of the escalation error. */
export function describeRules(parts: readonly PolicyRule[]): string {
  const lines = compact(parts).map((rule) => {
    const fields: [string, readonly string[] | undefined | null][] = [
      ["APIGroups", rule.apiGroups],
      ["Resources", rule.resources],
      ["NonResourceURLs", rule.nonResourceURLs],
      ["ResourceNames", rule.resourceNames],
      ["Verbs", rule.verbs],
    ];
    const shown = fields.filter(([, list]) => list?.length).map(([name, list]) => `${name}:${quoted(list)}`);
    return `{${shown.join(", ")}}`;
  });
  return [...new Set(lines)].sort(compareBytes).join("\n");
}

function quoted(list: readonly string[] | undefined | null): string {
  return `[${(list ?? []).map((item) => JSON.stringify(item)).join(" ")}]`;
}
