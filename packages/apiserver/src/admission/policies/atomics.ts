/** Finds what of a configuration can only be replaced as a whole. */
import type { JsonValue } from "@keelson/core";
import type { TypeRef } from "@keelson/core/internal/merge";

/** Paths as messages show them: `.spec.tolerations`, `.spec.containers[0].args`. */
export function findAtomics(value: JsonValue | undefined, type: TypeRef, path = ""): string[] {
  const { map, list } = type.atom;
  if (Array.isArray(value)) {
    if (!list) return [];
    return [
      ...(list.atomic ? [path] : []),
      ...value.flatMap((item, i) => findAtomics(item, list.element, `${path}[${i}]`)),
    ];
  }
  if (typeof value !== "object" || value === null || !map) return [];
  const found = map.atomic ? [path] : [];
  for (const [key, item] of Object.entries(value)) {
    const field = map.fields.get(key);
    if (field) found.push(...findAtomics(item, field.type, `${path}.${key}`));
  }
  return found;
}
