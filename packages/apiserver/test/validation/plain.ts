/** Answers without what differs from run to run. */

const volatile = new Set([
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "resourceVersion",
  "managedFields",
  "lastTransitionTime",
  "lastUpdateTime",
  "lastPhaseTransitionTime",
]);

const replacements: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, "<uid>"],
  [/kube-api-access-\w{5}/g, "kube-api-access-<random>"],
  [/\b10\.(?:0\.0|96\.\d+)\.\d+\b/g, "<service address>"],
  // Long and always the same: shortened, or the recordings would consist of it.
  [/\(e\.g\. [^)]*?regex used for validation is '.*?'\)(?=,|\]|;|$)/g, "(…)"],
  [/\n@@[\s\S]*$/, ""],
];

/** Go has no order of its own for maps, so errors about them come in any. */
export function plainMessage(message: string): string {
  let text = message;
  for (const [pattern, replacement] of replacements) text = text.replace(pattern, replacement);
  const at = text.indexOf(" is invalid: ");
  if (at < 0) return text.trimEnd();
  const parts = text
    .slice(at + " is invalid: ".length)
    .replace(/^\[|\]\s*$/g, "")
    .split(/, (?=[a-z][\w.[\]/-]*: )/);
  return `${text.slice(0, at)} is invalid: ${parts
    .map((part) => part.trim())
    .sort()
    .join(", ")}`;
}

export function plain(value: unknown): unknown {
  if (typeof value === "string") {
    let text = value;
    for (const [pattern, replacement] of replacements) text = text.replace(pattern, replacement);
    return text;
  }
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) {
    const item = (value as Record<string, unknown>)[key];
    if (volatile.has(key)) continue;
    if (key === "nodePort" || key === "healthCheckNodePort") out[key] = "<port>";
    else if (key === "message" && typeof item === "string") out[key] = plainMessage(item);
    else if (key.endsWith("controller-uid")) out[key] = "<uid>";
    else out[key] = plain(item);
  }
  return out;
}

/** What a client reads of a refusal, or the object. */
export function outcome({ code, body }: { code: number; body: unknown }): readonly [number, unknown] {
  const { message } = (body ?? {}) as { message?: string };
  return code >= 400 ? [code, plainMessage(message ?? "")] : [code, plain(body)];
}
