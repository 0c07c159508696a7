/** Whether an object is as a test of kro's expects: what is written there must be there, more may be. */
import { deepEqual } from "@keelson/core";

/** Undefined when it is, otherwise the first difference. */
export function difference(actual: unknown, expected: unknown, path = ""): string | undefined {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${path} is no list`;
    if (actual.length !== expected.length)
      return `${path} has ${actual.length} elements, not ${expected.length}`;
    return first(expected.map((each, index) => () => difference(actual[index], each, `${path}[${index}]`)));
  }
  if (expected !== null && typeof expected === "object") {
    if (actual === null || typeof actual !== "object") return `${path} is ${JSON.stringify(actual)}`;
    const fields = actual as Record<string, unknown>;
    return first(
      Object.entries(expected).map(([key, value]) => () => {
        const filter = /^\((\w+)\[\?(\w+) == '([^']*)'\]\)$/.exec(key);
        if (!filter) return difference(fields[key], value, `${path}.${key}`);
        const [, list = "", field = "", wanted] = filter;
        const items = (fields[list] ?? []) as Record<string, unknown>[];
        return difference(
          items.filter((each) => each[field] === wanted),
          value,
          `${path}.${key}`,
        );
      }),
    );
  }
  return deepEqual(actual, expected)
    ? undefined
    : `${path} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`;
}

function first(checks: readonly (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const problem = check();
    if (problem !== undefined) return problem;
  }
  return undefined;
}
