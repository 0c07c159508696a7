/** What becomes of an object when one of its values is another, or gone. */

type Json = Record<string, unknown>;

export interface Variation {
  /** `spec.containers.0.image := ""` */
  readonly label: string;
  readonly object: Json;
}

const gone = Symbol("gone");

function others(value: unknown): unknown[] {
  if (typeof value === "string") return [gone, "", "Not Valid!"];
  if (typeof value === "number") return [gone, -1, 0, 70_000];
  if (typeof value === "boolean") return [gone];
  if (Array.isArray(value)) return value.length > 0 ? [gone, [...value, value[0]]] : [gone];
  return [gone];
}

function* paths(
  value: unknown,
  path: readonly (string | number)[] = [],
): Generator<readonly (string | number)[]> {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    const next = [...path, Array.isArray(value) ? Number(key) : key];
    if (path.length === 0 && (key === "apiVersion" || key === "kind")) continue;
    yield next;
    yield* paths((value as Json)[key], next);
  }
}

function changed(object: Json, path: readonly (string | number)[], value: unknown): Json {
  const copy = structuredClone(object);
  let holder: unknown = copy;
  for (const key of path.slice(0, -1)) holder = (holder as Json)[key];
  const last = path[path.length - 1] as string;
  if (value !== gone) (holder as Json)[last] = value;
  else if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete (holder as Json)[last];
  return copy;
}

export function* variations(object: Json): Generator<Variation> {
  for (const path of paths(object)) {
    let value: unknown = object;
    for (const key of path) value = (value as Json)[key];
    for (const other of others(value)) {
      if (JSON.stringify(other) === JSON.stringify(value)) continue;
      const shown = other === gone ? "gone" : JSON.stringify(other).slice(0, 40);
      yield { label: `${path.join(".")} := ${shown}`, object: changed(object, path, other) };
    }
  }
}
